// Model FLOPs by formula, independent of the program: what MFU divides by.
//
//   matmul parameters  M = all weights used in products: parameters without the embedding table and norms
//                          (the head counts, tied or not)
//   per token, forward and backward:  6 M + attention
//   attention, per token:  full   12 L s a d     (the whole s x s square: PaLM, appendix B)
//                          causal  6 L s a d     (half of it)
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
