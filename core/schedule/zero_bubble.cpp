#include "core/schedule/zero_bubble.h"

#include <algorithm>
#include <deque>

#include "core/error.h"
#include "core/schedule/pass_list.h"

namespace trainyard {

std::vector<Slot> zero_bubble_h(int depth, int stages, int stage, int microbatches) {
  PassList passes(microbatches, {0, 0});
  const int warmup = std::min(microbatches, depth * (stages - stage - 1));
  const int late = depth * stage;
  for (int i = 0; i < warmup; ++i) {
    passes.forward(0);
  }
  for (int i = 0; i < microbatches; ++i) {
    if (warmup + i < microbatches) {
      passes.forward(0);
    }
    passes.input_gradient(0);
    if (i >= late) {
      passes.weight_gradient(0);
    }
  }
  while (passes.count(SlotKind::kBackwardWeight, 0) < microbatches) {
    passes.weight_gradient(0);
  }
  return passes.take();
}

std::vector<Slot> zero_bubble_v(int stages, int stage, int microbatches) {
  const int ahead = stages - stage;
  const int pattern = std::max(2 * stages - 1, microbatches);  // the shortest step that fills the pipeline
  PassList passes(microbatches, {0, 0});
  for (int i = 0; i < 2 * ahead - 1; ++i) {
    passes.forward(0);
  }
  for (int i = 0; i < stage; ++i) {
    passes.forward(1);
    passes.forward(0);
  }
  for (int i = 0; i < ahead; ++i) {
    passes.forward(1);
    passes.backward(1);
  }
  while (passes.count(SlotKind::kForward, 1) < pattern || passes.count(SlotKind::kForward, 0) < pattern) {
    if (passes.count(SlotKind::kForward, 0) < pattern) {
      passes.forward(0);
    }
    passes.backward(0);
    passes.forward(1);
    passes.backward(1);
  }
  for (int i = 0; i < stage; ++i) {
    passes.input_gradient(0);
    passes.input_gradient(1);
  }
  for (int i = 0; i < ahead; ++i) {
    passes.backward(0);
  }
  for (const int chunk : {1, 0}) {
    while (passes.count(SlotKind::kBackwardWeight, chunk) < pattern) {
      passes.weight_gradient(chunk);
    }
  }
  return passes.take();
}

namespace {

// One stage of DualPipe. `near` enters at this stage's end of the pipeline, `far` at the other.
class DualPipeStage {
 public:
  DualPipeStage(int stages, int stage, int microbatches)
      : half_(microbatches / 2),
        inner_(std::min(stage, stages - 1 - stage)),
        distance_(stages / 2 - 1 - inner_),
        near_(2 * stage < stages ? 0 : 1),
        far_(1 - near_),
        stages_(stages),
        passes_(half_, {0, half_}) {}

  std::vector<Slot> write() {
    const int pattern = std::max(half_, stages_);  // micro-batches of a direction that fill the pipeline
    repeat(2 * distance_, [&] { passes_.forward(near_); });
    repeat(inner_ + 1, [&] {
      passes_.forward(near_);
      passes_.forward(far_);
    });
    repeat(distance_, [&] {
      passes_.backward(far_);
      passes_.forward(far_);
    });
    repeat(pattern - stages_ + inner_ + 1, [&] {
      passes_.forward(near_);
      passes_.backward(far_);
      passes_.forward(far_);
      passes_.backward(near_);
    });
    repeat(distance_, [&] {
      passes_.backward(far_);
      passes_.forward(far_);
      passes_.backward(near_);
    });
    drain();
    return passes_.take();
  }

 private:
  template <class Body>
  void repeat(int times, Body body) {
    for (int i = 0; i < times; ++i) {
      body();
    }
  }

  // From the middle of the drain on, weight gradients wait until the input gradients of others have left.
  void drain() {
    bool apart = false;
    for (int i = 0; i <= inner_; ++i) {
      apart = apart || (i == (inner_ + 1) / 2 && inner_ % 2 == 1);
      backward(far_, apart);
      apart = apart || (i == (inner_ + 1) / 2 && inner_ % 2 == 0);
      backward(near_, apart);
    }
    for (int i = 0; i < distance_; ++i) {
      weight_gradient();
      backward(near_, true);
    }
    while (!waiting_.empty()) {
      weight_gradient();
    }
  }
  void backward(int chunk, bool apart) {
    passes_.input_gradient(chunk);
    if (apart) {
      waiting_.push_back(chunk);
    } else {
      passes_.weight_gradient(chunk);
    }
  }
  void weight_gradient() {
    if (!waiting_.empty()) {
      passes_.weight_gradient(waiting_.front());
      waiting_.pop_front();
    }
  }

  int half_;
  int inner_;     // places from the nearer end
  int distance_;  // places from the middle
  int near_;
  int far_;
  int stages_;
  PassList passes_;
  std::deque<int> waiting_;  // chunks whose weight gradients are due, in order
};

}  // namespace

std::vector<Slot> dual_pipe(int stages, int stage, int microbatches) {
  check(stages % 2 == 0 && microbatches % 2 == 0, "DualPipe has two equal halves");
  return DualPipeStage(stages, stage, microbatches).write();
}

}  // namespace trainyard
