// The schedules that run weight gradients apart from input gradients; what they are is in schedule.h.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"

namespace trainyard {

// `depth` 1: ZB-H1; 2: ZB-H2. Warm-up depth (p-s-1) forwards, weight gradients depth s micro-batches late.
std::vector<Slot> zero_bubble_h(int depth, int stages, int stage, int microbatches);
std::vector<Slot> zero_bubble_v(int stages, int stage, int microbatches);
// stages and microbatches are even.
std::vector<Slot> dual_pipe(int stages, int stage, int microbatches);

}  // namespace trainyard
