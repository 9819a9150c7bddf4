// PassList: the slots of a stage, written down chunk by chunk in the order of micro-batches.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "core/schedule/schedule.h"

namespace trainyard {

// Each chunk takes its micro-batches in order, first .. first + limit - 1; passes beyond are not written, so that the
// pattern of a long step serves a short one.
class PassList {
 public:
  PassList(int limit, std::array<int, 2> first) : limit_(limit), first_(first) {}

  void forward(int chunk) { add(SlotKind::kForward, chunk); }
  void input_gradient(int chunk) { add(SlotKind::kBackwardInput, chunk); }
  void weight_gradient(int chunk) { add(SlotKind::kBackwardWeight, chunk); }
  void backward(int chunk) {
    input_gradient(chunk);
    weight_gradient(chunk);
  }
  // Passes of this kind so far.
  int count(SlotKind kind, int chunk) const { return counts_[index(kind)][static_cast<std::size_t>(chunk)]; }
  std::vector<Slot> take() { return std::move(slots_); }

 private:
  static std::size_t index(SlotKind kind) { return static_cast<std::size_t>(kind); }
  void add(SlotKind kind, int chunk) {
    const auto which = static_cast<std::size_t>(chunk);
    const int microbatch = counts_[index(kind)][which]++;
    if (microbatch < limit_) {
      slots_.push_back({kind, first_[which] + microbatch, chunk});
    }
  }

  int limit_;
  std::array<int, 2> first_;
  std::array<std::array<int, 2>, 3> counts_{};
  std::vector<Slot> slots_;
};

}  // namespace trainyard
