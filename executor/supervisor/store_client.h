// StoreClient: a rank's end of the store. One request at a time; a second thread that waits for long (a
// watcher) has a client of its own.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "executor/supervisor/file_descriptor.h"
#include "executor/supervisor/store.h"
#include "executor/supervisor/store_protocol.h"

namespace trainyard::executor {

struct StoreAddress {
  std::string host = "127.0.0.1";  // IPv4
  std::uint16_t port = 0;
  std::string token;
};

class StoreClient final : public Store {
 public:
  // Throws Error if the server can't be reached or refuses the token.
  explicit StoreClient(StoreAddress address);

  void set(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key) override;
  bool wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;

  // From any thread: the request in progress and all later ones throw Error.
  void interrupt();

 private:
  struct Response {
    StoreStatus status = StoreStatus::kOk;
    std::string text;
  };
  Response request(const FrameWriter& request, std::chrono::milliseconds patience = {});
  void send_all(const std::string& data);
  std::string receive(std::size_t bytes, std::chrono::steady_clock::time_point deadline);
  [[noreturn]] void lost(const std::string& why) const;

  StoreAddress address_;
  FileDescriptor socket_;
  std::mutex mutex_;
};

}  // namespace trainyard::executor
