// Attention segment: products to queries, keys and values, rotary positions, causal grouped-query attention,
// output product. The weights of q, k and v lie next to each other, so that one product makes all three.
//
//   qkv = rope(normed Wqkv^T)   [t, (a + 2 g) d]
//   attention = softmax(q k^T / sqrt(d), causal) v   [t, a d]
//   branch = attention Wo^T   [t, h], partial over tensor-parallel ranks
#pragma once

#include "executor/device/device.h"
#include "executor/transformer/block_shape.h"
#include "executor/transformer/linear.h"

namespace trainyard::executor {

struct AttentionWeights {
  ConstValues qkv;                 // [(a + 2 g) d, h]
  ConstValues output;              // [h, a d]
  ConstValues qkv_bias = {};       // [(a + 2 g) d]; null: none
  ConstValues output_bias = {};    // [h]
  const float* cosines = nullptr;  // [sequence, d/2], device memory; not used where positions are learned
  const float* sines = nullptr;
};

struct AttentionForward {
  ConstValues normed;  // [t, h]
  Values qkv;
  Values attention;
  float* log_sum_exp = nullptr;  // [sequences, a, sequence]
  Values branch;
};
void attention_forward(Device& device, Stream stream, const BlockShape& shape, const AttentionWeights& weights,
                       const AttentionForward& operands);

struct AttentionBackwardInput {
  ConstValues branch_grad;  // [t, h]
  ConstValues qkv;
  ConstValues attention;
  const float* log_sum_exp = nullptr;
  Values attention_grad;  // [t, a d]
  Values qkv_grad;        // [t, (a + 2 g) d]
  Values normed_grad;     // [t, h], partial
};
void attention_backward_input(Device& device, Stream stream, const BlockShape& shape, const AttentionWeights& weights,
                              const AttentionBackwardInput& operands);

struct AttentionBackwardWeight {
  ConstValues branch_grad;
  ConstValues attention;
  ConstValues qkv_grad;
  ConstValues normed;
  Values qkv_weight_grad;     // [(a + 2 g) d, h]
  Values output_weight_grad;  // [h, a d]
  Values qkv_bias_grad = {};  // null: none
  Values output_bias_grad = {};
  bool accumulate = false;
};
void attention_backward_weight(Device& device, Stream stream, const BlockShape& shape,
                               const AttentionBackwardWeight& operands);

}  // namespace trainyard::executor
