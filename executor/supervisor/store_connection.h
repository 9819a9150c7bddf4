// StoreConnection: one client's connection at the server. Never blocks.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "executor/supervisor/file_descriptor.h"
#include "executor/supervisor/store_protocol.h"

namespace trainyard::executor {

class StoreServer;

class StoreConnection {
 public:
  using Clock = std::chrono::steady_clock;

  StoreConnection(StoreServer& server, FileDescriptor socket);

  int socket() const { return socket_.number(); }
  bool closed() const { return closed_; }
  short poll_events() const;
  std::optional<Clock::time_point> deadline() const;

  // Reads, answers and writes as far as that goes without blocking.
  void progress();

 private:
  struct Wait {
    std::vector<std::string> keys;
    Clock::time_point deadline;
  };

  bool read_some();
  void write_some();
  bool take_frame();  // false: no whole frame yet, or an answer is still due
  void answer(FrameReader request);
  void answer_hello(FrameReader& request);
  void answer_set(FrameReader& request);
  void answer_get(FrameReader& request);
  void answer_add(FrameReader& request);
  void begin_wait(FrameReader& request);
  void finish_wait();
  void reply(StoreStatus status, const std::string& text = {});
  void close() { closed_ = true; }

  StoreServer& server_;
  FileDescriptor socket_;
  bool closed_ = false;
  bool authenticated_ = false;
  Clock::time_point hello_deadline_;
  std::optional<Wait> wait_;
  std::string input_;
  std::string output_;
};

}  // namespace trainyard::executor
