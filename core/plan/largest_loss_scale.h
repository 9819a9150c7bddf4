// The largest loss scale of fp16 (training.h: LossScaling), of a plan's first one and of a run's growth: beyond it a
// gradient of 1 / 256 overflows, which fp16 does above 65504.
#pragma once

namespace trainyard {

constexpr double kLargestLossScale = 1 << 24;

}  // namespace trainyard
