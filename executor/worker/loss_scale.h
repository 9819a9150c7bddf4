// LossScale: the dynamic loss scale of an fp16 run (core/plan/training.h: LossScaling), in step on all ranks.
//
//   a step overflows:  scale /= 2, and the step is skipped
//   growth_steps steps in a row don't:  scale *= 2, at most 2^24
//
// Whether a step overflows follows from the reduced gradient norm, which is the same on every rank and not finite where
// any gradient is.
#pragma once

#include <cstdint>

#include "core/plan/training.h"

namespace trainyard::executor {

// What a checkpoint keeps of it.
struct LossScaleState {
  double scale = 1;
  std::int64_t good_steps = 0;     // in a row, since the scale last changed
  std::int64_t skipped_steps = 0;  // of the run: they are no updates to AdamW
  friend bool operator==(const LossScaleState&, const LossScaleState&) = default;
};

class LossScale {
 public:
  explicit LossScale(const LossScaling& scaling);

  const LossScaleState& state() const { return state_; }
  void set_state(const LossScaleState& state) { state_ = state; }

  // Throws Error where gradients overflow at the lowest scale, 1.
  void after_step(bool overflowed);

 private:
  LossScaling scaling_;
  LossScaleState state_;
};

}  // namespace trainyard::executor
