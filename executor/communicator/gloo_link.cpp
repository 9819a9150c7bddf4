#include "executor/communicator/gloo_link.h"

#include <exception>
#include <utility>

#include "core/error.h"
#include "executor/communicator/peer_lost.h"

namespace trainyard::executor {
namespace {

using Clock = std::chrono::steady_clock;

// Counts for as long as it lives.
class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& count_;
};

std::chrono::milliseconds since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
}

}  // namespace

GlooLink::GlooLink(int rank, std::shared_ptr<gloo::Context> context, std::chrono::milliseconds timeout)
    : rank_(rank), context_(std::move(context)), timeout_(timeout) {}

GlooLink::Pending::Pending(GlooLink& link, int peer, bool is_send, MessageName name)
    : link_(link), peer_(peer), is_send_(is_send), name_(name) {}

GlooLink::Pending::~Pending() {
  const std::scoped_lock lock(link_.mutex_);
  link_.waiting_.erase(buffer_.get());
}

void GlooLink::Pending::wait() {
  const Clock::time_point begin = Clock::now();
  bool done = false;
  const Counted counted(link_.waits_);
  try {
    done = is_send_ ? buffer_->waitSend(link_.timeout_) : buffer_->waitRecv(link_.timeout_);
  } catch (const std::exception& error) {
    link_.fail(*this, error.what(), since(begin));
  }
  if (!done) {
    link_.throw_aborted(name_.operation);
  }
}

std::unique_ptr<GlooLink::Pending> GlooLink::post(int peer, bool is_send, MessageName name, std::uint64_t slot,
                                                  void* data, std::int64_t bytes) {
  std::unique_ptr<Pending> pending(new Pending(*this, peer, is_send, name));
  pending->buffer_ = context_->createUnboundBuffer(data, static_cast<std::size_t>(bytes));
  {
    // abort() marks the buffers it finds here, and a mark outlasts the moment: whoever waits later sees it.
    const std::scoped_lock lock(mutex_);
    if (!aborted_) {
      waiting_.insert(pending->buffer_.get());
    }
  }
  require_alive(name.operation);
  const Clock::time_point begin = Clock::now();
  try {
    if (is_send) {
      pending->buffer_->send(peer, slot);
    } else {
      pending->buffer_->recv(peer, slot);
    }
  } catch (const std::exception& error) {
    fail(*pending, error.what(), since(begin));
  }
  return pending;
}

std::unique_ptr<GlooLink::Pending> GlooLink::send(int peer, std::uint64_t slot, const void* data, std::int64_t bytes,
                                                  MessageName name) {
  return post(peer, true, name, slot, const_cast<void*>(data), bytes);  // Gloo reads it only
}

std::unique_ptr<GlooLink::Pending> GlooLink::recv(int peer, std::uint64_t slot, void* data, std::int64_t bytes,
                                                  MessageName name) {
  return post(peer, false, name, slot, data, bytes);
}

void GlooLink::abort(const std::string& why) {
  {
    const std::scoped_lock lock(mutex_);
    if (aborted_) {
      return;
    }
    aborted_ = true;
    why_ = why;
    for (gloo::transport::UnboundBuffer* buffer : waiting_) {
      buffer->abortWaitRecv();
      buffer->abortWaitSend();
    }
  }
  if (context_) {
    context_->closeConnections();
  }
}

void GlooLink::require_alive(std::string_view operation) {
  {
    const std::scoped_lock lock(mutex_);
    if (!aborted_) {
      return;
    }
  }
  throw_aborted(operation);
}

void GlooLink::throw_aborted(std::string_view operation) {
  std::string why;
  {
    const std::scoped_lock lock(mutex_);
    why = why_;
  }
  throw PeerLost(std::string(operation) + " was aborted: " + why, "rank " + std::to_string(rank_),
                 "the rank that failed first has the cause");
}

std::string GlooLink::describe(const Pending& pending) const {
  return std::string(pending.name_.operation) + " " + std::to_string(pending.name_.group_or_tag) + ", step " +
         std::to_string(pending.name_.step) + ", " + (pending.is_send_ ? "sending to" : "receiving from") + " rank " +
         std::to_string(pending.peer_);
}

void GlooLink::fail(const Pending& pending, const std::string& what, std::chrono::milliseconds waited) {
  require_alive(pending.name_.operation);  // an abort closes connections; that is not a peer's failure
  const bool timed_out = waited >= timeout_;
  const std::string peer = "rank " + std::to_string(pending.peer_);
  const std::string problem = timed_out ? "no answer from " + peer + " for " + std::to_string(timeout_.count()) + " ms"
                                        : "lost the connection to " + peer;
  const std::string text = problem + " in " + describe(pending);
  abort(text);
  throw PeerLost(text, "rank " + std::to_string(rank_),
                 timed_out ? "look whether " + peer + " hangs; the timeout is an option of the communicator"
                           : "look at the output of " + peer + " (" + what + ")");
}

void GlooLink::count(CommunicationKind kind, std::int64_t bytes, bool opens_message) {
  const std::size_t at = static_cast<std::size_t>(kind);
  sent_[at] += bytes;
  messages_[at] += opens_message ? 1 : 0;
}

CommunicatorCounters GlooLink::counters() const {
  CommunicatorCounters result;
  for (std::size_t at = 0; at < sent_.size(); ++at) {
    result.sent[at] = ByteCount(sent_[at].load());
    result.messages[at] = messages_[at].load();
  }
  return result;
}

}  // namespace trainyard::executor
