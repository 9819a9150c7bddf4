#include <gtest/gtest.h>

#include <cmath>

#include "simulator/compute/log_curve.h"
#include "simulator/compute/measured_kernels.h"
#include "simulator/compute/residual_fit.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

// A machine whose products cost 2 us and 20 ps per FLOP and 0.4 ns per element of C.
double machine_time(const Gemm& gemm) {
  const double m = static_cast<double>(gemm.m), n = static_cast<double>(gemm.n), k = static_cast<double>(gemm.k);
  return 2e-6 + 20e-12 * 2 * m * n * k + 0.4e-9 * m * n;
}

Concurrency machine() {
  Concurrency set;
  for (const std::int64_t m : {32, 128, 512}) {
    for (const std::int64_t n : {64, 256, 1024}) {
      for (const std::int64_t k : {64, 512}) {
        const Gemm gemm{1, m, n, k, DataType::kFp32, Transpose::kNT, false};
        set.gemms.push_back({gemm, from_si<Seconds>(machine_time(gemm))});
      }
    }
  }
  set.elementwise = {{ElementwiseKernel::kCopy, 1024, ByteCount(8192), 2_us},
                     {ElementwiseKernel::kCopy, 131072, ByteCount(1048576), 100_us}};
  return set;
}

TEST(MeasuredKernels, SamplesAreReproducedAndShapesBetweenAndBeyondFollowTheMachine) {
  const MeasuredKernels kernels(machine(), "test");
  for (const GemmSample& sample : machine().gemms) {
    EXPECT_NEAR(kernels.time(Operation(sample.gemm)).si(), sample.time.si(), 1e-6 * sample.time.si());
  }
  for (const Gemm& gemm : {Gemm{1, 96, 384, 200}, Gemm{1, 300, 700, 300}, Gemm{1, 1024, 2048, 512}}) {
    EXPECT_NEAR(kernels.time(Operation(gemm)).si(), machine_time(gemm), 0.05 * machine_time(gemm));
  }
}

TEST(MeasuredKernels, NoProductIsFasterThanTheBestMeasured) {
  const MeasuredKernels kernels(machine(), "test");
  double best = 0.0;
  for (const GemmSample& sample : machine().gemms) {
    best = std::max(best, static_cast<double>(flops(Operation(sample.gemm)).value()) / sample.time.si());
  }
  for (const std::int64_t size : {100, 1000, 5000, 20000}) {
    const Gemm gemm{1, size, size, size};
    const double rate = static_cast<double>(flops(Operation(gemm)).value()) / kernels.time(Operation(gemm)).si();
    EXPECT_LE(rate, best * (1 + 1e-12));
  }
}

TEST(MeasuredKernels, AnUnsampledElementwiseKernelCostsACopyOfItsBytes) {
  const MeasuredKernels kernels(machine(), "test");
  const Elementwise add{ElementwiseKernel::kAdd, 131072, ByteCount(524288), ByteCount(524288)};
  EXPECT_NEAR(kernels.time(Operation(add)).si(), 100e-6, 1e-12);
}

TEST(MeasuredKernels, ATypeWithoutSamplesIsAnErrorThatNamesIt) {
  const MeasuredKernels kernels(machine(), "test");
  Gemm gemm{1, 8, 8, 8};
  gemm.type = DataType::kBf16;
  const Error error = error_of([&] { kernels.time(Operation(gemm)); });
  EXPECT_TRUE(contains(error.problem(), "bf16"));
}

// Between (8 KiB, 2 us) and (1 MiB, 100 us) the curve is a power law; half-way in log-log lies at the
// geometric means. Below the first point the same law goes on; above the last it grows with the size.
TEST(LogCurve, IsAPowerLawBetweenPointsAndBelowAndProportionalAbove) {
  const LogCurve curve({{1048576.0, 100e-6}, {8192.0, 2e-6}});
  EXPECT_NEAR(curve(std::sqrt(8192.0 * 1048576.0)), std::sqrt(2e-6 * 100e-6), 1e-12);
  EXPECT_NEAR(curve(8192.0 / 128), 2e-6 / 50, 1e-12);
  EXPECT_DOUBLE_EQ(curve(2097152.0), 200e-6);
}

// 5 then 3 become their geometric mean, 6 stays.
TEST(LogCurve, NeverFalls) {
  EXPECT_NEAR(LogCurve({{10, 5.0}, {20, 3.0}, {40, 6.0}})(20), std::sqrt(15.0), 1e-12);
  const LogCurve curve({{10, 5.0}, {20, 3.0}, {40, 6.0}});
  double before = 0.0;
  for (double size = 5; size < 100; size *= 1.1) {
    EXPECT_GE(curve(size), before);
    before = curve(size);
  }
}

}  // namespace
}  // namespace trainyard::simulator
