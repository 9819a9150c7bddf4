#include "executor/communicator/direct.h"

#include <cstring>
#include <vector>

#include "executor/communicator/reduction.h"

namespace trainyard::executor {
namespace {

constexpr std::int64_t kPostedAhead = 2;  // slices, each from every other member

// The other members, nearest successor first, so that not everybody sends to index 0 at once.
std::vector<int> others(const Exchange& exchange) {
  std::vector<int> result;
  for (int i = 1; i < exchange.members(); ++i) {
    result.push_back((exchange.index() + i) % exchange.members());
  }
  return result;
}

void send_whole(Exchange& exchange, const ChunkedTensor& tensor, int member, Slice part,
                std::vector<Request>& requests) {
  if (part.elements > 0) {
    requests.push_back(
        exchange.post_send(member, 0, tensor.at(part.first), tensor.bytes(part.elements), MessagePart::kFirst));
  }
}

void recv_whole(Exchange& exchange, const ChunkedTensor& tensor, int member, Slice part,
                std::vector<Request>& requests) {
  if (part.elements > 0) {
    requests.push_back(exchange.post_recv(member, 0, tensor.at(part.first), tensor.bytes(part.elements)));
  }
}

void wait_all(Exchange& exchange, const std::vector<Request>& requests) {
  for (const Request request : requests) {
    exchange.wait(request);
  }
}

// Receives `part` of the tensor from every other member, slice by slice, and sums it in index order.
class OrderedSum {
 public:
  OrderedSum(Exchange& exchange, const ChunkedTensor& tensor, Slice part, ReduceOp op)
      : exchange_(exchange), tensor_(tensor), part_(part), op_(op), count_(tensor.slices(part)) {
    const std::int64_t slots = kPostedAhead * exchange.members();
    scratch_ = exchange.scratch(slots * tensor.bytes(tensor.slice_elements));
    recvs_.resize(static_cast<std::size_t>(slots));
    inputs_.resize(static_cast<std::size_t>(exchange.members()));
  }

  std::int64_t slices() const { return count_; }

  void post_first() {
    for (std::int64_t k = 0; k < kPostedAhead && k < count_; ++k) {
      post(k);
    }
  }

  // Waits for slice k, sums it into the tensor, and posts the slice that takes its room.
  void take(std::int64_t k) {
    const Slice slice = tensor_.slice(part_, k);
    for (int member = 0; member < exchange_.members(); ++member) {
      const std::size_t at = static_cast<std::size_t>(member);
      if (member == exchange_.index()) {
        inputs_[at] = tensor_.at(slice.first);
      } else {
        exchange_.wait(recvs_[place(k, member)]);
        inputs_[at] = slot(k, member);
      }
    }
    accumulate_in_order(inputs_, tensor_.at(slice.first), slice.elements, tensor_.type, op_);
    if (k + kPostedAhead < count_) {
      post(k + kPostedAhead);
    }
  }

 private:
  std::size_t place(std::int64_t k, int member) const {
    return static_cast<std::size_t>((k % kPostedAhead) * exchange_.members() + member);
  }
  std::byte* slot(std::int64_t k, int member) const {
    return scratch_ + static_cast<std::int64_t>(place(k, member)) * tensor_.bytes(tensor_.slice_elements);
  }
  void post(std::int64_t k) {
    const Slice slice = tensor_.slice(part_, k);
    for (const int member : others(exchange_)) {
      recvs_[place(k, member)] = exchange_.post_recv(member, 0, slot(k, member), tensor_.bytes(slice.elements));
    }
  }

  Exchange& exchange_;
  const ChunkedTensor& tensor_;
  Slice part_;
  ReduceOp op_;
  std::int64_t count_;
  std::byte* scratch_ = nullptr;
  std::vector<Request> recvs_;
  std::vector<const void*> inputs_;
};

void send_slice(Exchange& exchange, const ChunkedTensor& tensor, int member, Slice part, std::int64_t k,
                std::vector<Request>& requests) {
  const Slice slice = tensor.slice(part, k);
  requests.push_back(exchange.post_send(member, 0, tensor.at(slice.first), tensor.bytes(slice.elements),
                                        k == 0 ? MessagePart::kFirst : MessagePart::kLater));
}

}  // namespace

void direct_reduce_scatter(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op) {
  OrderedSum sum(exchange, tensor, tensor.chunk(exchange.index()), op);
  sum.post_first();
  std::vector<Request> sends;
  for (const int member : others(exchange)) {
    for (std::int64_t k = 0; k < tensor.slices(tensor.chunk(member)); ++k) {
      send_slice(exchange, tensor, member, tensor.chunk(member), k, sends);
    }
  }
  for (std::int64_t k = 0; k < sum.slices(); ++k) {
    sum.take(k);
  }
  wait_all(exchange, sends);
}

void direct_all_gather(Exchange& exchange, const ChunkedTensor& tensor) {
  std::vector<Request> requests;
  for (const int member : others(exchange)) {
    recv_whole(exchange, tensor, member, tensor.chunk(member), requests);
  }
  for (const int member : others(exchange)) {
    send_whole(exchange, tensor, member, tensor.chunk(exchange.index()), requests);
  }
  wait_all(exchange, requests);
}

void direct_all_reduce(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op) {
  const Slice whole{0, tensor.elements()};
  OrderedSum sum(exchange, tensor, whole, op);
  sum.post_first();
  std::vector<std::vector<Request>> sends(static_cast<std::size_t>(sum.slices()));
  for (std::int64_t k = 0; k < sum.slices(); ++k) {
    for (const int member : others(exchange)) {
      send_slice(exchange, tensor, member, whole, k, sends[static_cast<std::size_t>(k)]);
    }
  }
  for (std::int64_t k = 0; k < sum.slices(); ++k) {
    wait_all(exchange, sends[static_cast<std::size_t>(k)]);  // the sum overwrites what they send
    sum.take(k);
  }
}

void direct_broadcast(Exchange& exchange, const ChunkedTensor& tensor) {
  const Slice whole{0, tensor.elements()};
  std::vector<Request> requests;
  if (exchange.index() == 0) {
    for (const int member : others(exchange)) {
      send_whole(exchange, tensor, member, whole, requests);
    }
  } else {
    recv_whole(exchange, tensor, 0, whole, requests);
  }
  wait_all(exchange, requests);
}

void direct_all_to_all(Exchange& exchange, const ChunkedTensor& in, const ChunkedTensor& out) {
  std::vector<Request> requests;
  for (const int member : others(exchange)) {
    recv_whole(exchange, out, member, out.chunk(member), requests);
  }
  for (const int member : others(exchange)) {
    send_whole(exchange, in, member, in.chunk(member), requests);
  }
  const Slice own = in.chunk(exchange.index());
  if (own.elements > 0) {
    std::memcpy(out.at(out.chunk(exchange.index()).first), in.at(own.first),
                static_cast<std::size_t>(in.bytes(own.elements)));
  }
  wait_all(exchange, requests);
}

}  // namespace trainyard::executor
