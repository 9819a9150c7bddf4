// Feed-forward segment with SwiGLU (Shazeer 2020). Gate and up weights lie next to each other.
//
//   gate_up = normed [Wg; Wu]^T   [t, 2 f]
//   activated = gate * sigmoid(gate) * up   [t, f]
//   branch = activated Wd^T   [t, h], partial over tensor-parallel ranks
#pragma once

#include "executor/device/device.h"
#include "executor/transformer/block_shape.h"

namespace trainyard::executor {

struct MlpWeights {
  const float* gate_up = nullptr;  // [2 f, h]
  const float* down = nullptr;     // [h, f]
};

struct MlpForward {
  const float* normed = nullptr;  // [t, h]
  float* gate_up = nullptr;
  float* activated = nullptr;
  float* branch = nullptr;
};
void mlp_forward(Device& device, Stream stream, const BlockShape& shape, const MlpWeights& weights,
                 const MlpForward& operands);

struct MlpBackwardInput {
  const float* branch_grad = nullptr;  // [t, h]
  const float* gate_up = nullptr;
  float* activated_grad = nullptr;  // [t, f]
  float* gate_up_grad = nullptr;    // [t, 2 f]
  float* normed_grad = nullptr;     // [t, h], partial
};
void mlp_backward_input(Device& device, Stream stream, const BlockShape& shape, const MlpWeights& weights,
                        const MlpBackwardInput& operands);

struct MlpBackwardWeight {
  const float* branch_grad = nullptr;
  const float* activated = nullptr;
  const float* gate_up_grad = nullptr;
  const float* normed = nullptr;
  float* gate_up_weight_grad = nullptr;  // [2 f, h]
  float* down_weight_grad = nullptr;     // [h, f]
  bool accumulate = false;
};
void mlp_backward_weight(Device& device, Stream stream, const BlockShape& shape, const MlpBackwardWeight& operands);

}  // namespace trainyard::executor
