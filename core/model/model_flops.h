// Model FLOPs by formula, independent of the program: what MFU divides by.
//
//   matmul parameters  M = weights of all products that a token goes through: without the embedding table, norms and
//                          biases; top-k of the experts, the router and the shared ones; the head counts, tied or
//                          not, and once more for each multi-token block
//   per token, forward and backward:  6 M + attention
//   attention, per token:  sum over layers of 6 h (q + v) k,   h heads, q the size of a key's head and v of a value's
//                          causal  k = s / 2, under a window w < s  w - w^2 / (2 s)
//                          full    k twice that: without a window the whole s x s square (PaLM, appendix B)
// So that a dense layer without a window has 6 s h d causal and 12 s h d full.
#pragma once

#include <cstdint>

#include "core/model/model_spec.h"
#include "core/units/quantity.h"

namespace trainyard {

enum class AttentionConvention : std::uint8_t { kFull, kCausal };

std::int64_t matmul_parameter_count(const ModelSpec& model);

// Forward and backward FLOPs that training one token needs, recomputation not counted.
Flops model_flops_per_token(const ModelSpec& model, std::int64_t sequence, AttentionConvention convention);

}  // namespace trainyard
