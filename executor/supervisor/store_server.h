// StoreServer: the launcher's end of the store, and a Store for the launcher itself.
//
// Listens on one address, on a free port; one thread serves all connections. A connection must give the
// token first and has 5 s to do so. Malformed or oversized input closes the connection and touches nothing.
// All values together are bounded; a set() beyond that is refused.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "executor/supervisor/file_descriptor.h"
#include "executor/supervisor/store.h"

namespace trainyard::executor {

class StoreConnection;

// 32 hexadecimal digits from the kernel's random numbers.
std::string random_token();

class StoreServer final : public Store {
 public:
  // Throws Error if the address (IPv4) can't be listened at.
  explicit StoreServer(std::string token, const std::string& address = "127.0.0.1");
  ~StoreServer() override;
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }

  void set(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key) override;
  bool wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;

 private:
  friend class StoreConnection;
  void serve();
  void accept_connection();
  int milliseconds_to_next_deadline() const;
  void wake();
  bool has_all(const std::vector<std::string>& keys);  // with mutex_ held
  void set_locked(const std::string& key, const std::string& value);

  std::string token_;
  std::uint16_t port_ = 0;
  FileDescriptor listener_;
  FileDescriptor wake_;

  std::list<StoreConnection> connections_;  // the serving thread's

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::size_t value_bytes_ = 0;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace trainyard::executor
