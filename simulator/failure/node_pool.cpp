#include "simulator/failure/node_pool.h"

#include <limits>

namespace trainyard::simulator {

void NodePool::send_to_repair(const RepairedNode& node, std::optional<double> back_at) {
  ++away_;
  if (back_at) {
    repairs_.push({*back_at, node});
  }
}

void NodePool::collect(double clock) {
  while (!repairs_.empty() && repairs_.top().time <= clock) {
    if (owed_ > 0) {
      --owed_;
    } else {
      returned_.push_back(repairs_.top().node);
    }
    repairs_.pop();
    --away_;
  }
}

std::optional<RepairedNode> NodePool::take() {
  if (fresh_ > 0) {
    --fresh_;
    return std::nullopt;
  }
  const RepairedNode node = returned_.front();
  returned_.pop_front();
  return node;
}

double NodePool::next_return() const {
  return repairs_.empty() ? std::numeric_limits<double>::infinity() : repairs_.top().time;
}

}  // namespace trainyard::simulator
