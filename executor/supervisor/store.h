// Store: the key-value store where the ranks of a job meet. The launcher serves it (store_server.h).
//
// Values are bytes and are never deleted during a job. Callers put a job and generation in front of their
// keys, so that an abandoned generation's are not read by the next. Keys up to kMaxStoreKeyBytes, values up
// to kMaxStoreValueBytes. Errors: a lost server, a refused token, an oversized key throw Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::executor {

constexpr std::size_t kMaxStoreKeyBytes = 1024;
constexpr std::size_t kMaxStoreValueBytes = std::size_t{1} << 20;

class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  virtual std::optional<std::string> get(const std::string& key) = 0;
  // Until all keys are there; false if they are not within the timeout.
  virtual bool wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) = 0;
  // Adds to the integer held in decimal at the key (0 if absent) and returns the sum.
  virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;
};

}  // namespace trainyard::executor
