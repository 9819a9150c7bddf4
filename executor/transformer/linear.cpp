#include "executor/transformer/linear.h"

#include "core/program/storage_type.h"

namespace trainyard::executor {

namespace {
Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, DataType type, Transpose transpose) {
  Gemm gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.type = type;
  gemm.transpose = transpose;
  return gemm;
}

bool inputs_first(const Linear& linear) { return linear.order == WeightOrder::kInputsOutputs; }
}  // namespace

Linear layer_product(const BlockShape& shape, std::int64_t out, std::int64_t in) {
  return {.tokens = shape.tokens,
          .out = out,
          .in = in,
          .type = shape.type,
          .order = shape.inputs_first ? WeightOrder::kInputsOutputs : WeightOrder::kOutputsInputs};
}

Linear head_product(const BlockShape& shape) {
  return {.tokens = shape.tokens, .out = shape.vocabulary.size(), .in = shape.hidden, .type = wide_type(shape.type)};
}

namespace {
Gemm forward_product(const Linear& linear) {
  const Transpose transpose = inputs_first(linear) ? Transpose::kNN : Transpose::kNT;
  return product(linear.tokens, linear.out, linear.in, linear.type, transpose);
}
Gemm input_product(const Linear& linear) {
  const Transpose transpose = inputs_first(linear) ? Transpose::kNT : Transpose::kNN;
  Gemm gemm = product(linear.tokens, linear.in, linear.out, linear.type, transpose);
  gemm.gradient = GradientOperand::kA;
  return gemm;
}
}  // namespace

void linear_forward(Device& device, Stream stream, const Linear& linear, ConstValues x, ConstValues weight,
                    ConstValues bias, Values y) {
  device.matmul(stream, forward_product(linear), x, weight, y, bias);
}

void linear_forward_gelu(Device& device, Stream stream, const Linear& linear, ConstValues x, ConstValues weight,
                         ConstValues bias, Values before, Values activated) {
  device.matmul_gelu(stream, forward_product(linear), x, weight, bias, before, activated);
}

void linear_backward_input(Device& device, Stream stream, const Linear& linear, ConstValues y_grad, ConstValues weight,
                           Values x_grad) {
  device.matmul(stream, input_product(linear), y_grad, weight, x_grad, {});
}

void linear_backward_input_gelu(Device& device, Stream stream, const Linear& linear, ConstValues y_grad,
                                ConstValues weight, ConstValues before, Values before_grad) {
  device.matmul_gelu_backward(stream, input_product(linear), y_grad, weight, before, before_grad);
}

void linear_backward_weight(Device& device, Stream stream, const Linear& linear, ConstValues y_grad, ConstValues x,
                            Values weight_grad, Values bias_grad, bool accumulate) {
  const bool turned = inputs_first(linear);
  Gemm gemm = turned ? product(linear.in, linear.out, linear.tokens, linear.type, Transpose::kTN)
                     : product(linear.out, linear.in, linear.tokens, linear.type, Transpose::kTN);
  gemm.accumulate = accumulate;
  gemm.gradient = turned ? GradientOperand::kB : GradientOperand::kA;
  device.matmul(stream, gemm, turned ? x : y_grad, turned ? y_grad : x, weight_grad, {});
  if (bias_grad) {
    device.bias_backward(stream, y_grad, bias_grad, linear.tokens, linear.out, accumulate);
  }
}

}  // namespace trainyard::executor
