#include "executor/communicator/tree.h"

#include <vector>

#include "core/program/wire.h"
#include "executor/communicator/reduction.h"

namespace trainyard::executor {
namespace {

constexpr int kUp = 0;  // steps
constexpr int kDown = 1;

class Tree {
 public:
  Tree(Exchange& exchange, const ChunkedTensor& tensor)
      : exchange_(exchange),
        tensor_(tensor),
        whole_{0, tensor.elements()},
        children_(tree_children(exchange.index(), exchange.members())) {}

  void reduce(ReduceOp op) {
    const std::int64_t slot_bytes = tensor_.bytes(tensor_.slice_elements);
    std::byte* scratch = exchange_.scratch(slot_bytes * static_cast<std::int64_t>(children_.size()));
    for (std::int64_t k = 0; k < slices(); ++k) {
      const Slice slice = tensor_.slice(whole_, k);
      std::vector<Request> recvs;
      for (const int child : children_) {
        std::byte* slot = scratch + static_cast<std::int64_t>(recvs.size()) * slot_bytes;
        recvs.push_back(exchange_.post_recv(child, kUp, slot, tensor_.bytes(slice.elements)));
      }
      for (std::size_t i = 0; i < recvs.size(); ++i) {
        exchange_.wait(recvs[i]);
        accumulate(tensor_.at(slice.first), scratch + static_cast<std::int64_t>(i) * slot_bytes, slice.elements,
                   tensor_.type, op);
      }
      if (has_parent()) {
        send(parent(), kUp, slice, k);
      }
    }
  }

  void broadcast() {
    std::vector<Request> recvs;
    if (has_parent()) {
      for (std::int64_t k = 0; k < slices(); ++k) {
        const Slice slice = tensor_.slice(whole_, k);
        recvs.push_back(exchange_.post_recv(parent(), kDown, tensor_.at(slice.first), tensor_.bytes(slice.elements)));
      }
    }
    for (std::int64_t k = 0; k < slices(); ++k) {
      if (has_parent()) {
        exchange_.wait(recvs[static_cast<std::size_t>(k)]);
      }
      for (const int child : children_) {
        send(child, kDown, tensor_.slice(whole_, k), k);
      }
    }
  }

  void finish() {
    for (const Request request : sends_) {
      exchange_.wait(request);
    }
  }

 private:
  std::int64_t slices() const { return tensor_.slices(whole_); }
  bool has_parent() const { return exchange_.index() > 0; }
  int parent() const { return tree_parent(exchange_.index()); }
  void send(int member, int step, Slice slice, std::int64_t k) {
    sends_.push_back(exchange_.post_send(member, step, tensor_.at(slice.first), tensor_.bytes(slice.elements),
                                         k == 0 ? MessagePart::kFirst : MessagePart::kLater));
  }

  Exchange& exchange_;
  const ChunkedTensor& tensor_;
  Slice whole_;
  std::vector<int> children_;
  std::vector<Request> sends_;
};

}  // namespace

void tree_all_reduce(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op) {
  Tree tree(exchange, tensor);
  tree.reduce(op);
  tree.broadcast();
  tree.finish();
}

void tree_broadcast(Exchange& exchange, const ChunkedTensor& tensor) {
  Tree tree(exchange, tensor);
  tree.broadcast();
  tree.finish();
}

}  // namespace trainyard::executor
