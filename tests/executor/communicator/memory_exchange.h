// An Exchange among threads of one process: mailboxes instead of a network.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "executor/communicator/exchange.h"
#include "executor/communicator/scratch.h"

namespace trainyard::executor {

struct Mailboxes {
  using Key = std::tuple<int, int, int>;  // from, to, step
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, std::deque<std::vector<std::byte>>> messages;
};

class MemoryExchange final : public Exchange {
 public:
  MemoryExchange(Mailboxes& boxes, int index, int members) : boxes_(boxes), index_(index), members_(members) {}

  int index() const override { return index_; }
  int members() const override { return members_; }
  std::int64_t sent_bytes() const { return sent_bytes_; }
  std::int64_t messages() const { return messages_; }

  Request post_send(int member, int step, const void* data, std::int64_t bytes, MessagePart part) override {
    sent_bytes_ += bytes;
    messages_ += part == MessagePart::kFirst ? 1 : 0;
    const auto* begin = static_cast<const std::byte*>(data);
    const std::scoped_lock lock(boxes_.mutex);
    boxes_.messages[{index_, member, step}].emplace_back(begin, begin + bytes);
    boxes_.changed.notify_all();
    return {-1};
  }
  Request post_recv(int member, int step, void* data, std::int64_t bytes) override {
    receives_.push_back({member, step, data, bytes});
    return {static_cast<std::int64_t>(receives_.size()) - 1};
  }
  // Memory is written here, as late as may be: a receive posted early must not rely on more.
  void wait(Request request) override {
    if (request.number < 0) {
      return;
    }
    const Receive& receive = receives_[static_cast<std::size_t>(request.number)];
    std::unique_lock lock(boxes_.mutex);
    auto& box = boxes_.messages[{receive.member, index_, receive.step}];
    boxes_.changed.wait(lock, [&] { return !box.empty(); });
    check(static_cast<std::int64_t>(box.front().size()) == receive.bytes, "sent and received sizes agree");
    std::memcpy(receive.data, box.front().data(), box.front().size());
    box.pop_front();
  }
  std::byte* scratch(std::int64_t bytes) override { return scratch_.reserve(bytes); }

 private:
  struct Receive {
    int member;
    int step;
    void* data;
    std::int64_t bytes;
  };
  Mailboxes& boxes_;
  int index_;
  int members_;
  std::int64_t sent_bytes_ = 0;
  std::int64_t messages_ = 0;
  std::vector<Receive> receives_;
  Scratch scratch_;
};

}  // namespace trainyard::executor
