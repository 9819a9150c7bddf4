// Attention segment: products to queries, keys and values, rotary positions, causal grouped-query attention,
// output product. The weights of q, k and v lie next to each other, so that one product makes all three.
//
//   qkv = rope(normed Wqkv^T)   [t, (a + 2 g) d]
//   attention = softmax(q k^T / sqrt(d), causal) v   [t, a d]
//   branch = attention Wo^T   [t, h], partial over tensor-parallel ranks
#pragma once

#include "executor/device/device.h"
#include "executor/transformer/block_shape.h"

namespace trainyard::executor {

struct AttentionWeights {
  const float* qkv = nullptr;      // [(a + 2 g) d, h]
  const float* output = nullptr;   // [h, a d]
  const float* cosines = nullptr;  // [sequence, d/2], device memory
  const float* sines = nullptr;
};

struct AttentionForward {
  const float* normed = nullptr;  // [t, h]
  float* qkv = nullptr;
  float* attention = nullptr;
  float* log_sum_exp = nullptr;  // [sequences, a, sequence]
  float* branch = nullptr;
};
void attention_forward(Device& device, Stream stream, const BlockShape& shape, const AttentionWeights& weights,
                       const AttentionForward& operands);

struct AttentionBackwardInput {
  const float* branch_grad = nullptr;  // [t, h]
  const float* qkv = nullptr;
  const float* attention = nullptr;
  const float* log_sum_exp = nullptr;
  float* attention_grad = nullptr;  // [t, a d]
  float* qkv_grad = nullptr;        // [t, (a + 2 g) d]
  float* normed_grad = nullptr;     // [t, h], partial
};
void attention_backward_input(Device& device, Stream stream, const BlockShape& shape, const AttentionWeights& weights,
                              const AttentionBackwardInput& operands);

struct AttentionBackwardWeight {
  const float* branch_grad = nullptr;
  const float* attention = nullptr;
  const float* qkv_grad = nullptr;
  const float* normed = nullptr;
  float* qkv_weight_grad = nullptr;     // [(a + 2 g) d, h]
  float* output_weight_grad = nullptr;  // [h, a d]
  bool accumulate = false;
};
void attention_backward_weight(Device& device, Stream stream, const BlockShape& shape,
                               const AttentionBackwardWeight& operands);

}  // namespace trainyard::executor
