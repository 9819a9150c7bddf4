// Feed-forward segment with SwiGLU (Shazeer 2020), gate and up weights next to each other, or with GELU
// (kernel/gelu.h): then gate_up is the up product alone, [t, f].
//
//   gate_up = normed [Wg; Wu]^T   [t, 2 f]
//   activated = gate * sigmoid(gate) * up   [t, f]
//   branch = activated Wd^T   [t, h], partial over tensor-parallel ranks
#pragma once

#include "executor/device/device.h"
#include "executor/transformer/block_shape.h"
#include "executor/transformer/linear.h"

namespace trainyard::executor {

struct MlpWeights {
  ConstValues gate_up;       // [2 f, h]
  ConstValues down;          // [h, f]
  ConstValues up_bias = {};  // null: none
  ConstValues down_bias = {};
};

struct MlpForward {
  ConstValues normed;  // [t, h]
  Values gate_up;
  Values activated;
  Values branch;
};
void mlp_forward(Device& device, Stream stream, const BlockShape& shape, const MlpWeights& weights,
                 const MlpForward& operands);

struct MlpBackwardInput {
  ConstValues branch_grad;  // [t, h]
  ConstValues gate_up;
  Values activated_grad;  // [t, f]
  Values gate_up_grad;    // [t, 2 f]
  Values normed_grad;     // [t, h], partial
};
void mlp_backward_input(Device& device, Stream stream, const BlockShape& shape, const MlpWeights& weights,
                        const MlpBackwardInput& operands);

struct MlpBackwardWeight {
  ConstValues branch_grad;
  ConstValues activated;
  ConstValues gate_up_grad;
  ConstValues normed;
  Values gate_up_weight_grad;  // [2 f, h]
  Values down_weight_grad;     // [h, f]
  Values up_bias_grad = {};    // null: none
  Values down_bias_grad = {};
  bool accumulate = false;
};
void mlp_backward_weight(Device& device, Stream stream, const BlockShape& shape, const MlpBackwardWeight& operands);

}  // namespace trainyard::executor
