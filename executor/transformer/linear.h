// Linear layers: products with a weight, as it is stored.
//
//   forward          Y[t,out] = X[t,in] W^T (+ bias)
//   input gradient   X'[t,in] = Y'[t,out] W
//   weight gradient  W'[out,in] (+)= Y'^T X;  bias' (+)= sum over tokens of Y'
//
// W is [out, in], or [in, out] where `order` says so (GPT-2's Conv1D): then no product turns it round but the input
// gradient's. All tensor-parallel ranks add the bias of a partial sum, so it must be there on one of them only.
#pragma once

#include <cstdint>

#include "executor/device/device.h"
#include "executor/transformer/block_shape.h"

namespace trainyard::executor {

enum class WeightOrder : std::uint8_t { kOutputsInputs, kInputsOutputs };

struct Linear {
  std::int64_t tokens = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;
  DataType type = DataType::kFp32;
  WeightOrder order = WeightOrder::kOutputsInputs;
};

// Of a layer's products, and of the head, which is stored as the embedding is in every family.
Linear layer_product(const BlockShape& shape, std::int64_t out, std::int64_t in);
Linear head_product(const BlockShape& shape);

// bias null: none.
void linear_forward(Device& device, Stream stream, const Linear& linear, ConstValues x, ConstValues weight,
                    ConstValues bias, Values y);
// before = X W^T + bias, activated = gelu(before).
void linear_forward_gelu(Device& device, Stream stream, const Linear& linear, ConstValues x, ConstValues weight,
                         ConstValues bias, Values before, Values activated);
// X' = (Y' W) gelu'(before): the gradient of what was activated to X.
void linear_backward_input_gelu(Device& device, Stream stream, const Linear& linear, ConstValues y_grad,
                                ConstValues weight, ConstValues before, Values before_grad);
void linear_backward_input(Device& device, Stream stream, const Linear& linear, ConstValues y_grad, ConstValues weight,
                           Values x_grad);
void linear_backward_weight(Device& device, Stream stream, const Linear& linear, ConstValues y_grad, ConstValues x,
                            Values weight_grad, Values bias_grad, bool accumulate);

}  // namespace trainyard::executor
