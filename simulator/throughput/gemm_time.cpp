#include "simulator/throughput/gemm_time.h"

#include <cmath>

namespace trainyard::simulator {

namespace {

constexpr double kVector = 64.0;  // elements that tensor cores' loads and tiles want n and k to be multiples of
constexpr double kTile = 128.0;   // rows of a tile
constexpr double kOutputBytes = 2.0;

bool misaligned(double dimension) { return std::fmod(dimension, kVector) != 0.0; }

Seconds product_time(const GemmShape& shape, const GemmRate& rate, double rows_lost) {
  const double loss = 1.0 + rate.depth / shape.k + rows_lost / shape.m +
                      (misaligned(shape.n) || misaligned(shape.k) ? rate.misaligned : 0.0);
  const Bytes moved =
      from_si<Bytes>(rate.operand_bytes * (shape.m * shape.k + shape.k * shape.n) + kOutputBytes * shape.m * shape.n);
  return max(shape.flops() / rate.reached * loss, moved / rate.memory);
}

}  // namespace

Seconds gemm_time(const GemmShape& shape, const GemmRate& rate) {
  return product_time(shape, rate, 0.0) + rate.overhead;
}

Seconds grouped_gemm_time(const GemmShape& shape, double count, const GemmRate& rate) {
  return count * product_time(shape, rate, 0.5 * kTile) + rate.overhead;
}

}  // namespace trainyard::simulator
