// GlooLink: one rank's connections, and the waits on them that abort() releases.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/program/communication.h"
#include "executor/communicator/communicator.h"

namespace trainyard::executor {

// Where a message belongs, for error texts: "all_reduce in group 7, step 1".
struct MessageName {
  std::string_view operation;  // a literal
  std::uint64_t group_or_tag = 0;
  int step = 0;
};

class GlooLink {
 public:
  // context is null when there is one rank.
  GlooLink(int rank, std::shared_ptr<gloo::Context> context, std::chrono::milliseconds timeout);

  // A send or receive in flight. Its destructor takes it back from abort() and from Gloo.
  class Pending {
   public:
    ~Pending();
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    void wait();

   private:
    friend class GlooLink;
    Pending(GlooLink& link, int peer, bool is_send, MessageName name);
    GlooLink& link_;
    int peer_;
    bool is_send_;
    MessageName name_;
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  };

  std::unique_ptr<Pending> send(int peer, std::uint64_t slot, const void* data, std::int64_t bytes, MessageName name);
  std::unique_ptr<Pending> recv(int peer, std::uint64_t slot, void* data, std::int64_t bytes, MessageName name);

  // The first reason given stays. Safe from any thread.
  void abort(const std::string& why);
  void require_alive(std::string_view operation);  // throws Error once aborted
  bool waiting() const { return waits_ > 0; }      // some thread, for a peer

  void count(CommunicationKind kind, std::int64_t bytes, bool opens_message);
  CommunicatorCounters counters() const;

 private:
  std::unique_ptr<Pending> post(int peer, bool is_send, MessageName name, std::uint64_t slot, void* data,
                                std::int64_t bytes);
  [[noreturn]] void fail(const Pending& pending, const std::string& what, std::chrono::milliseconds waited);
  [[noreturn]] void throw_aborted(std::string_view operation);
  std::string describe(const Pending& pending) const;

  int rank_;
  std::shared_ptr<gloo::Context> context_;
  std::chrono::milliseconds timeout_;
  std::array<std::atomic<std::int64_t>, kCommunicationKinds> sent_{};
  std::array<std::atomic<std::int64_t>, kCommunicationKinds> messages_{};

  std::atomic<int> waits_ = 0;

  std::mutex mutex_;  // of what follows
  bool aborted_ = false;
  std::string why_;
  std::unordered_set<gloo::transport::UnboundBuffer*> waiting_;
};

}  // namespace trainyard::executor
