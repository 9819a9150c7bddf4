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
  DataType type = DataType::kFp32;  // of activations and weights
  float epsilon = 0;

  std::int64_t query_columns() const { return heads * head_size; }
  std::int64_t qkv_columns() const { return (heads + 2 * key_value_heads) * head_size; }
};

BlockShape block_shape(const Plan& plan, int tensor_index, std::int64_t query_tile);

Attention attention_operation(const BlockShape& shape, AttentionPass pass);

// Products with a weight W [out, in], as every linear layer stores it.
//   forward          Y[t,out] = X[t,in] W^T
//   input gradient   X'[t,in] = Y'[t,out] W
//   weight gradient  W'[out,in] (+)= Y'^T X
Gemm linear_forward(const BlockShape& shape, std::int64_t out, std::int64_t in);
Gemm linear_input_gradient(const BlockShape& shape, std::int64_t out, std::int64_t in);
Gemm linear_weight_gradient(const BlockShape& shape, std::int64_t out, std::int64_t in, bool accumulate);

}  // namespace trainyard::executor
