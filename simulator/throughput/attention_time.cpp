#include "simulator/throughput/attention_time.h"

#include <algorithm>

namespace trainyard::simulator {

namespace {

constexpr double kFlashBackward = 2.5 * 1.2;  // work, over the lower rate
constexpr double kScoreBytesForward = 13.0;
constexpr double kScoreBytesBackward = 18.0;

Seconds unfused(const AttentionShape& shape, const AttentionRate& rate, double products, double score_bytes) {
  const double scores = shape.sequences * shape.queries * shape.keys * shape.heads;
  const Flops flops = from_si<Flops>(2.0 * scores * (shape.key_size + shape.value_size));
  return products * (flops / rate.batched) + from_si<Bytes>(score_bytes * scores) / rate.memory;
}

}  // namespace

Seconds attention_forward_time(const AttentionShape& shape, const AttentionRate& rate) {
  return rate.kernel != AttentionKernel::kUnfused ? shape.flops() / rate.flash
                                                  : unfused(shape, rate, 1.0, kScoreBytesForward);
}

Seconds attention_backward_time(const AttentionShape& shape, const AttentionRate& rate) {
  return rate.kernel != AttentionKernel::kUnfused ? kFlashBackward * (shape.flops() / rate.flash)
                                                  : unfused(shape, rate, 2.0, kScoreBytesBackward);
}

double flash_share(AttentionKernel kernel, std::string_view generation) {
  const bool hopper = generation == "hopper";
  const bool older = generation == "ampere" || generation == "volta";
  switch (kernel) {
    case AttentionKernel::kUnfused:
    case AttentionKernel::kFlash1:
      return older ? 0.32 : hopper ? 0.18 : 0.09;
    case AttentionKernel::kFlash2:
      return older ? 0.48 : hopper ? 0.31 : 0.16;
    case AttentionKernel::kFlash3:
      return older ? 0.48 : hopper ? 0.48 : 0.23;
    case AttentionKernel::kCudnn:
      return 0.48;
  }
  return 0.48;
}

double kept_keys(double tokens, double window) {
  return window > 0.0 && window < tokens ? window * (1.0 - 0.5 * window / tokens) : 0.5 * tokens;
}

}  // namespace trainyard::simulator
