#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/units/format_quantity.h"
#include "executor/machine/self_test.h"

namespace trainyard::executor {

namespace {

constexpr std::int64_t kSize = 512;
constexpr int kRepeats = 8;

// Small values without structure that a wrong stride could hide behind; exact in fp32.
float pattern(std::int64_t i) { return static_cast<float>((i * 37 + 11) % 101 - 50) / 64.0F; }

// C = A B^T by plain loops, for every 61st entry.
double largest_error(const float* a, const float* b, const float* c) {
  double worst = 0;
  for (std::int64_t entry = 0; entry < kSize * kSize; entry += 61) {
    const std::int64_t row = entry / kSize;
    const std::int64_t column = entry % kSize;
    double sum = 0;
    for (std::int64_t k = 0; k < kSize; ++k) {
      sum += static_cast<double>(a[row * kSize + k]) * static_cast<double>(b[column * kSize + k]);
    }
    worst = std::max(worst, std::abs(sum - static_cast<double>(c[entry])));
  }
  return worst;
}

Seconds best_time(Device& device, const Gemm& gemm, const float* a, const float* b, float* c) {
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    device.matmul(Stream::kCompute, gemm, a, b, c, {});
    device.synchronize();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return from_si<Seconds>(best);
}

}  // namespace

SelfTest test_matrix_product(Device& device) {
  const ByteCount bytes(kSize * kSize * std::int64_t{sizeof(float)});
  auto* a = static_cast<float*>(device.allocate(bytes));
  auto* b = static_cast<float*>(device.allocate(bytes));
  auto* c = static_cast<float*>(device.allocate(bytes));
  for (std::int64_t i = 0; i < kSize * kSize; ++i) {
    a[i] = pattern(i);
    b[i] = pattern(3 * i + 7);
  }
  Gemm gemm;
  gemm.m = gemm.n = gemm.k = kSize;
  const Seconds time = best_time(device, gemm, a, b, c);
  const double error = largest_error(a, b, c);
  for (float* memory : {a, b, c}) {
    device.free(memory);
  }
  // 512 products below 1 in magnitude, each rounded to fp32: 512 * 2^-24 would be a bad day.
  if (!(error <= 512.0 * std::ldexp(1.0, -24))) {
    return {false, fmt::format("wrong result: off by {:.2g}", error)};
  }
  return {true, fmt::format("{} on one thread of the {}, the result is right",
                            format_quantity(flops(Operation(gemm)).quantity() / time), device.name())};
}

}  // namespace trainyard::executor
