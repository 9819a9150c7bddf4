// The time of attention's scores, softmax and values, one layer, one micro-batch.
//
//   flash     2 b s kept (a/tp) (d_qk + d_v) / cp / (P e_a);  backward x 3: scores again, and four products for two,
//             2.5 times the work at 5/6 of the rate;  kept = s/2 causal, w (1 - w/2s) with a window of w < s
//   unfused   both products over the whole square at 0.44 of what large products reach, and 13 bytes a score through
//             memory forward, 18 backward (scores, mask, softmax, dropout in 16 bits); backward's products x 2
// Source: Dao et al. 2022 and 2023 (2.5; kernels' rates); byte counts: Megatron's kernels, docs/cost_model.md.
#pragma once

#include <string_view>

#include "core/plan/stack_profile.h"
#include "core/units/quantity.h"

namespace trainyard::simulator {

struct AttentionShape {
  double sequences = 1.0;  // b
  double queries = 0.0;    // tokens of a sequence on this rank, s / cp
  double keys = 0.0;       // s
  double kept = 0.0;       // keys a query sees on average
  double heads = 0.0;      // a / tp
  double key_size = 0.0;
  double value_size = 0.0;
  Flops flops() const { return from_si<Flops>(2.0 * sequences * queries * kept * heads * (key_size + value_size)); }
};

struct AttentionRate {
  AttentionKernel kernel = AttentionKernel::kCudnn;
  FlopsPerSecond flash;    // P e_a
  FlopsPerSecond batched;  // of unfused products
  BytesPerSecond memory;
};

Seconds attention_forward_time(const AttentionShape& shape, const AttentionRate& rate);
Seconds attention_backward_time(const AttentionShape& shape, const AttentionRate& rate);

// Of the dense peak, on causal FLOPs, forward and backward together, in training: what a kernel is known to reach on a
// generation ("volta", "ampere", "hopper", "blackwell", ...). Flash 2 uses Ampere's instructions on later GPUs.
// Source: Shah et al. 2024, figure 5 (Flash 2 and 3, cuDNN on H100); fits to published steps, docs/cost_model.md.
double flash_share(AttentionKernel kernel, std::string_view generation);

// Keys a query sees on average, causal, in a sequence of `tokens`; window 0: none.
double kept_keys(double tokens, double window);

}  // namespace trainyard::simulator
