// Which format each operand of a linear layer's products in fp8 has: the gradient e5m2, all else e4m3, in all three
// passes and for both orders in which weights are stored.
//
// All elements of a tensor are equal, and need three bits of mantissa, which e4m3 has and e5m2, with two, rounds to
// even. The gradients, 1.125 = 1.001b, lie between 1.00b and 1.01b and become 1.00b = 1. Inputs and weights, 1.375 =
// 1.011b, would become 1.10b = 1.5, but keep their value. So each sum of k products tells which operand had which
// format:
//
//   forward          y  = k 1.375 1.375
//   input gradient   x' = k 1     1.375   (both in e4m3: 1.125 1.375; formats exchanged: 1.125 1.5; both e5m2: 1 1.5)
//   weight gradient  W' = k 1     1.375
//
// With the k here, 32, 48 and 16, they are 60.5, 66 and 22: exact in bf16, which has 8 binary digits.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "executor/device/convert.h"
#include "executor/device/cpu_device.h"
#include "executor/device/cuda_module.h"
#include "executor/device/fp8_product.h"
#include "executor/kernel/float8.h"
#include "executor/transformer/linear.h"
#include "tests/executor/device/cuda/emulated_device.h"

namespace trainyard::executor {
namespace {

constexpr std::int64_t kTokens = 16, kOut = 48, kIn = 32;
constexpr float kGradient = 1.125F, kOther = 1.375F;
constexpr float kRoundedGradient = 1.0F;

class Arrays {
 public:
  explicit Arrays(Device& device) : device_(device) {}

  Values filled(std::int64_t elements, float value) {
    const std::vector<float> wide(static_cast<std::size_t>(elements), value);
    std::vector<Bfloat16> narrowed(wide.size());
    narrow(wide.data(), narrowed.data(), elements);
    void* memory = device_.allocate(ByteCount(2 * elements));
    device_.copy_in(Stream::kCompute, memory, narrowed.data(), ByteCount(2 * elements));
    device_.synchronize();
    return {memory, DataType::kBf16};
  }
  void expect_all(Values values, std::int64_t elements, float expected) {
    std::vector<Bfloat16> narrowed(static_cast<std::size_t>(elements));
    device_.copy_out(Stream::kCompute, narrowed.data(), values.data, ByteCount(2 * elements));
    device_.synchronize();
    std::vector<float> wide(narrowed.size());
    widen(narrowed.data(), wide.data(), elements);
    EXPECT_EQ(wide, std::vector<float>(wide.size(), expected));
  }

 private:
  Device& device_;
};

void expect_formats(Device& device) {
  for (const WeightOrder order : {WeightOrder::kOutputsInputs, WeightOrder::kInputsOutputs}) {
    SCOPED_TRACE(order == WeightOrder::kOutputsInputs ? "[out, in]" : "[in, out]");
    const Linear linear{.tokens = kTokens, .out = kOut, .in = kIn, .type = DataType::kFp8, .order = order};
    Arrays x(device);
    const Values input = x.filled(kTokens * kIn, kOther), weight = x.filled(kOut * kIn, kOther);
    const Values y_grad = x.filled(kTokens * kOut, kGradient);
    const Values y = x.filled(kTokens * kOut, 0), x_grad = x.filled(kTokens * kIn, 0);
    const Values weight_grad = x.filled(kOut * kIn, 0);
    linear_forward(device, Stream::kCompute, linear, input, weight, nullptr, y);
    linear_backward_input(device, Stream::kCompute, linear, y_grad, weight, x_grad);
    linear_backward_weight(device, Stream::kCompute, linear, y_grad, input, weight_grad, nullptr, false);
    x.expect_all(y, kTokens * kOut, kIn * kOther * kOther);
    x.expect_all(x_grad, kTokens * kIn, kOut * kRoundedGradient * kOther);
    x.expect_all(weight_grad, kOut * kIn, kTokens * kRoundedGradient * kOther);
  }
}

TEST(LinearInFp8, OnTheCpuRoundsGradientsToE5m2AndAllElseToE4m3) { expect_formats(*make_cpu_device({})); }

TEST(LinearInFp8, ByTheGpusKernelsRoundsGradientsToE5m2AndAllElseToE4m3) { expect_formats(*make_emulated_device({})); }

TEST(LinearInFp8, OnAGpuRoundsGradientsToE5m2AndAllElseToE4m3) {
  const CudaStatus status = cuda_status();
  if (!status.problem.empty()) {
    GTEST_SKIP() << status.problem;
  }
  if (status.gpus.front().compute_capability < kFirstWithFp8) {
    GTEST_SKIP() << "the GPU has no fp8";
  }
  expect_formats(*make_cuda_device({}));
}

// What cuBLASLt's descriptors are made from: the operand that LaunchedDevice has marked.
TEST(LinearInFp8, AsksTheGpusProductForTheFormatOfEachOperand) {
  Fp8Product product;
  EXPECT_EQ(product.gradient(), GradientOperand::kNone);
  product.b.gradient = true;
  EXPECT_EQ(product.gradient(), GradientOperand::kB);
  product.b.gradient = false;
  product.a.gradient = true;
  EXPECT_EQ(product.gradient(), GradientOperand::kA);
}

}  // namespace
}  // namespace trainyard::executor
