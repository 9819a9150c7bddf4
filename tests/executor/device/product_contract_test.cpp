// Matrix products of every device, in every type, order and epilogue, against the CPU's.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "executor/device/cuda_module.h"
#include "executor/kernel/float8.h"
#include "tests/executor/device/device_contract.h"

namespace trainyard::executor {
namespace {

TEST_P(DeviceContract, MatrixProductsOfEveryStorageOrder) {
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {48, 64, 32}, {37, 53, 61}}) {
      SCOPED_TRACE(testing::Message() << m << " " << n << " " << k);
      expect_same(
          [&, m = m, n = n, k = k](Arrays& x) {
            Gemm gemm{.m = m, .n = n, .k = k, .type = x.type(), .transpose = transpose};
            const Values a = x.values(m * k, 1), b = x.values(k * n, 2), bias = x.values(n, 3);
            const Values c = x.unwritten(m * n);
            x->matmul(kStream, gemm, a, b, c, nullptr);
            x.read(c, m * n);
            x->matmul(kStream, gemm, a, b, c, bias);
            x.read(c, m * n);
            gemm.accumulate = true;
            const Values sum = x.of_type(normal_values(m * n, 4), DataType::kFp32);
            x->matmul(kStream, gemm, a, b, sum, nullptr);
            x.read(sum, m * n);
          },
          std::sqrt(static_cast<double>(k)));
    }
  }
}

// 10 bits of mantissa in the operands: 2^-10 of each factor, errors of both signs. On the CPU they are fp32 products.
TEST_P(DeviceContract, ProductsInTf32OfFp32Arrays) {
  if (GetParam().type != DataType::kFp32) {
    GTEST_SKIP() << "tf32 multiplies fp32";
  }
  const std::int64_t m = 64, n = 96, k = 128;
  const Gemm gemm{.m = m, .n = n, .k = k, .type = DataType::kTf32, .transpose = Transpose::kNT};
  const auto product = [&](const std::string& device) {
    Arrays x = arrays(device);
    const Values a = x.values(m * k, 1), b = x.values(n * k, 2), bias = x.values(n, 3), c = x.unwritten(m * n);
    x->matmul(kStream, gemm, a, b, c, bias);
    x.read(c, m * n);
    return x.results.front();
  };
  const std::vector<float> expected = product("cpu"), got = product(GetParam().device);
  const double deviation = std::sqrt(static_cast<double>(k));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 4 * 0x1p-10 * deviation) << i;
  }
}

// Both devices multiply the same numbers: what differs is the order of fp32 sums.
TEST_P(DeviceContract, ProductsInFp8OfBf16Arrays) {
  if (GetParam().type != DataType::kBf16) {
    GTEST_SKIP() << "fp8 multiplies bf16";
  }
  if (const CudaStatus status = cuda_status();
      GetParam().device == "cuda" && status.gpus.front().compute_capability < kFirstWithFp8) {
    GTEST_SKIP() << "the GPU has no fp8";
  }
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
    for (const GradientOperand gradient : {GradientOperand::kNone, GradientOperand::kA, GradientOperand::kB}) {
      for (const auto& [m, n, k] : {std::tuple{16, 32, 48}, {80, 144, 112}}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(transpose) << " " << static_cast<int>(gradient) << " " << m
                                        << " " << n << " " << k);
        Gemm gemm{.m = m, .n = n, .k = k, .type = DataType::kFp8, .transpose = transpose, .gradient = gradient};
        const auto products = [&, m = m, n = n, k = k](const std::string& device) {
          Arrays x = arrays(device);
          const Values a = x.values(m * k + 1, 1, 1e-3), b = x.values(n * k, 2, 30.0), bias = x.values(n, 3);
          float* c = x.floats(m * n, 4);
          gemm.accumulate = true;
          x->matmul(kStream, gemm, a, b, c, nullptr);
          x.read(c, m * n);
          gemm.accumulate = false;
          x->matmul(kStream, gemm, a + 1, b, c, nullptr);  // from an address that is no multiple of 16
          x.read(c, m * n);
          const Values narrow = x.unwritten(m * n);
          x->matmul(kStream, gemm, a, b, narrow, bias);
          x.read(narrow, m * n);
          EXPECT_EQ(x->counters().flops.value(), 3 * 2 * m * n * k);
          return std::move(x.results);
        };
        const auto expected = products("cpu"), got = products(GetParam().device);
        for (std::size_t array = 0; array < expected.size(); ++array) {
          for (std::size_t i = 0; i < expected[array].size(); ++i) {
            const double rounding = array == 2 ? 0x1p-7 : 1e-5;
            ASSERT_NEAR(got[array][i], expected[array][i], rounding * std::max(1.0F, std::abs(expected[array][i])))
                << array << " " << i;
          }
        }
      }
    }
  }
}

// Rows of a matrix of fp8 must be multiples of 16 bytes for the tensor cores; the CPU multiplies any.
TEST_P(DeviceContract, ProductsInFp8OfOtherSidesAreRefused) {
  if (GetParam().type != DataType::kBf16) {
    GTEST_SKIP() << "fp8 multiplies bf16";
  }
  Arrays x = arrays(GetParam().device);
  const Gemm gemm{.m = 16, .n = 16, .k = 24, .type = DataType::kFp8};
  EXPECT_THROW(x->matmul(kStream, gemm, x.values(16 * 24, 1), x.values(16 * 24, 2), x.unwritten(256), nullptr), Error);
}

// A device may activate what it writes before it rounds it: by half a unit of bf16 apart at the slope of GELU, 1.13.
TEST_P(DeviceContract, ProductsThatActivate) {
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT}) {
    for (const auto& [m, n, k] : {std::tuple{5, 7, 3}, {48, 64, 32}, {37, 120, 61}}) {
      SCOPED_TRACE(testing::Message() << m << " " << n << " " << k);
      expect_same(
          [&, m = m, n = n, k = k](Arrays& x) {
            const Gemm gemm{.m = m, .n = n, .k = k, .type = x.type(), .transpose = transpose};
            const Values a = x.values(m * k, 1, 0.3), b = x.values(k * n, 2, 0.3), bias = x.values(n, 3, 0.3);
            const Values before = x.unwritten(m * n), activated = x.unwritten(m * n), back = x.unwritten(m * n);
            x->matmul_gelu(kStream, gemm, a, b, bias, before, activated);
            x.read(before, m * n);
            x.read(activated, m * n);
            x->matmul_gelu(kStream, gemm, a, b, nullptr, before, activated);
            x.read(before, m * n);
            x.read(activated, m * n);
            x->matmul_gelu_backward(kStream, gemm, a, b, before, back);
            x.read(back, m * n);
            EXPECT_EQ(x->counters().flops.value(), 3 * 2 * m * n * k);
          },
          2.0);
    }
  }
}

}  // namespace
}  // namespace trainyard::executor
