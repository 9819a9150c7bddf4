#include "executor/worker/loss_scale.h"

#include <algorithm>

#include "core/error.h"
#include "core/plan/largest_loss_scale.h"

namespace trainyard::executor {

LossScale::LossScale(const LossScaling& scaling) : scaling_(scaling), state_{.scale = scaling.initial} {}

void LossScale::after_step(bool overflowed) {
  if (!overflowed) {
    if (++state_.good_steps >= scaling_.growth_steps) {
      state_.scale = std::min(2 * state_.scale, kLargestLossScale);
      state_.good_steps = 0;
    }
    return;
  }
  ++state_.skipped_steps;
  state_.good_steps = 0;
  if (state_.scale <= 1) {
    throw Error("gradients overflow fp16 at the lowest loss scale, 1", "training",
                "the run may have diverged: a lower learning rate or clipping; bf16 has fp32's range");
  }
  state_.scale /= 2;
}

}  // namespace trainyard::executor
