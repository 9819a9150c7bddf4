// Bytes that kernels other than products and attention move, per layer and micro-batch of t tokens, forward.
//
//   norms, residuals, dropout   14 t h fused, 22 t h one kernel each; over tp only with sequence parallelism
//   queries, keys, values       8 t (a d + 2 kv d)/tp: biases, rotary positions, layout
//   feed-forward                8 t f/tp plain, 10 t f/tp gated (read both, write one; fused: 6)
//   loss                        9 bytes a logit fused, 20 not; forward and backward together
//   casts                       c bytes per element quantised for a product
// Backward moves twice as much. time = bytes / (HBM x memory).
// Source: counted from Megatron's, Transformer Engine's and llm.c's kernels, 16-bit activations; docs/cost_model.md.
#pragma once

namespace trainyard::simulator {

struct ElementwiseWork {
  double tokens = 0.0;       // t
  double norm_tokens = 0.0;  // t, or t/tp with sequence parallelism
  double hidden = 0.0;
  double projected = 0.0;     // (a d + 2 kv d)/tp
  double feed_forward = 0.0;  // f/tp
  bool gated = false;
  bool fused = true;
};

double elementwise_bytes(const ElementwiseWork& work);

// Per logit, forward and backward.
double loss_bytes_per_logit(bool fused);

}  // namespace trainyard::simulator
