#include "executor/communicator/ring.h"

#include <vector>

#include "executor/communicator/reduction.h"

namespace trainyard::executor {
namespace {

constexpr std::int64_t kPostedAhead = 4;  // receives in flight: the one being added, and those arriving

struct Arrival {
  int step = 0;
  Slice slice;
  MessagePart part = MessagePart::kFirst;
};

// One pass round the ring over steps [first_step, last_step).
class RingPass {
 public:
  RingPass(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op, int first_step, int last_step)
      : exchange_(exchange), tensor_(tensor), op_(op), first_step_(first_step), last_step_(last_step) {
    for (int step = first_step; step < last_step; ++step) {
      add_slices(tensor.chunk(member(-2 - step)), step);
    }
    scratch_ = exchange.scratch(kPostedAhead * tensor.bytes(tensor.slice_elements));
  }

  void run() {
    if (exchange_.members() == 1) {
      return;
    }
    for (std::int64_t i = 0; i < kPostedAhead && i < arrivals(); ++i) {
      post_recv(i);
    }
    send_own_chunk();
    for (std::int64_t i = 0; i < arrivals(); ++i) {
      take(i);
    }
    for (const Request request : sends_) {
      exchange_.wait(request);
    }
  }

 private:
  std::int64_t arrivals() const { return static_cast<std::int64_t>(arrivals_.size()); }
  const Arrival& arrival(std::int64_t i) const { return arrivals_[static_cast<std::size_t>(i)]; }
  bool reduces(int step) const { return step < exchange_.members() - 1; }
  int member(int offset) const {  // offset >= -2 n
    const int n = exchange_.members();
    return (exchange_.index() + offset + 2 * n) % n;
  }
  std::byte* slot(std::int64_t i) const {
    return scratch_ + (i % kPostedAhead) * tensor_.bytes(tensor_.slice_elements);
  }

  void add_slices(Slice chunk, int step) {
    for (std::int64_t k = 0; k < tensor_.slices(chunk); ++k) {
      arrivals_.push_back({step, tensor_.slice(chunk, k), k == 0 ? MessagePart::kFirst : MessagePart::kLater});
    }
  }

  void send_own_chunk() {
    const Slice chunk = tensor_.chunk(member(-1 - first_step_));
    for (std::int64_t k = 0; k < tensor_.slices(chunk); ++k) {
      send(tensor_.slice(chunk, k), first_step_, k == 0 ? MessagePart::kFirst : MessagePart::kLater);
    }
  }

  void send(Slice slice, int step, MessagePart part) {
    sends_.push_back(
        exchange_.post_send(member(1), step, tensor_.at(slice.first), tensor_.bytes(slice.elements), part));
  }

  // A gathered slice may land in the tensor while our own partial sum of it is still being sent only if the
  // network delivered the sum before its own ingredient: it can't.
  void post_recv(std::int64_t i) {
    const Arrival& from = arrival(i);
    void* to = reduces(from.step) ? slot(i) : tensor_.at(from.slice.first);
    recvs_.push_back(exchange_.post_recv(member(-1), from.step, to, tensor_.bytes(from.slice.elements)));
  }

  void take(std::int64_t i) {
    const Arrival& from = arrival(i);
    exchange_.wait(recvs_[static_cast<std::size_t>(i)]);
    if (reduces(from.step)) {
      accumulate(tensor_.at(from.slice.first), slot(i), from.slice.elements, tensor_.type, op_);
    }
    if (i + kPostedAhead < arrivals()) {
      post_recv(i + kPostedAhead);
    }
    if (from.step + 1 < last_step_) {
      send(from.slice, from.step + 1, from.part);
    }
  }

  Exchange& exchange_;
  const ChunkedTensor& tensor_;
  ReduceOp op_;
  int first_step_;
  int last_step_;
  std::vector<Arrival> arrivals_;
  std::vector<Request> recvs_;
  std::vector<Request> sends_;
  std::byte* scratch_ = nullptr;
};

}  // namespace

void ring_reduce_scatter(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op) {
  RingPass(exchange, tensor, op, 0, exchange.members() - 1).run();
}

void ring_all_gather(Exchange& exchange, const ChunkedTensor& tensor) {
  const int n = exchange.members();
  RingPass(exchange, tensor, ReduceOp::kSum, n - 1, 2 * n - 2).run();
}

void ring_all_reduce(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op) {
  RingPass(exchange, tensor, op, 0, 2 * exchange.members() - 2).run();
}

}  // namespace trainyard::executor
