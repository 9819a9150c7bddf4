// BlockShape: the sizes of one rank's segments for one micro-batch.
//
// t = sequences * sequence tokens, h hidden; a, g query and key heads, f feed-forward columns and v
// vocabulary rows of this tensor-parallel rank; d head size.
//
// Worked out from model and layout alone, so that the products that the device counts are an independent
// check of those that the program lists.
#pragma once

#include <cstdint>

#include "core/layout/tensor_sharding.h"
#include "core/plan/plan.h"
#include "core/program/operation.h"

namespace trainyard::executor {

struct BlockShape {
  std::int64_t sequences = 0;
  std::int64_t sequence = 0;
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t feed_forward = 0;
  IndexRange vocabulary;
  std::int64_t query_tile = 0;      // of the attention kernel
  DataType type = DataType::kFp32;  // of a layer's products; activations and weights are of its storage_type
  float epsilon = 0;
  // What GPT-2's block has otherwise than Llama's.
  bool inputs_first = false;  // weights of a layer's products are stored [inputs, outputs]
  bool layer_norm = false;    // instead of RMSNorm
  bool rotary = true;         // else positions are learned
  bool gated = true;          // SwiGLU; else GELU

  std::int64_t query_columns() const { return heads * head_size; }
  std::int64_t qkv_columns() const { return (heads + 2 * key_value_heads) * head_size; }
  std::int64_t up_columns() const { return (gated ? 2 : 1) * feed_forward; }
};

BlockShape block_shape(const Plan& plan, int tensor_index, std::int64_t query_tile);

Attention attention_operation(const BlockShape& shape, AttentionPass pass);

}  // namespace trainyard::executor
