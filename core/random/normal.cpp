#include "core/random/normal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/random/philox.h"

namespace trainyard {

namespace {

// Blocks computed together, so that the compiler vectorises over them. Elements of a batch are stored lane
// by lane in Philox's order: element 4 b + l is word l of block b.
constexpr int kBlocks = 16;
constexpr int kBatch = 4 * kBlocks;

using Words = std::array<std::array<std::uint32_t, kBlocks>, 4>;
using Lane = std::array<double, kBlocks>;

// philox_block() for kBlocks consecutive blocks.
Words philox_batch(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block) {
  Words words;
  for (int b = 0; b < kBlocks; ++b) {
    const PhiloxBlock block = philox_block(seed, stream, first_block + static_cast<std::uint64_t>(b));
    for (std::size_t lane = 0; lane < 4; ++lane) {
      words[lane][b] = block[lane];
    }
  }
  return words;
}

// ln of (x + 1/2) 2^-32: exponent and mantissa m in [sqrt(1/2), sqrt(2)), then 2 artanh((m-1)/(m+1)).
// |f| < 0.172, so that the first term left out is below 2 f^17 / 17 = 1e-14.
double log_of_unit(std::uint32_t x) {
  const double u = (static_cast<double>(x) + 0.5) * 0x1p-32;
  constexpr std::uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(u);
  const std::uint64_t shifted = bits - kSqrtHalf;
  const auto exponent = static_cast<std::int32_t>(static_cast<std::int64_t>(shifted) >> 52);
  const double m = std::bit_cast<double>((shifted & 0x000FFFFFFFFFFFFF) + kSqrtHalf);
  const double f = (m - 1.0) / (m + 1.0);
  const double s = f * f;
  const double series =
      1.0 + s * (1.0 / 3 + s * (1.0 / 5 + s * (1.0 / 7 + s * (1.0 / 9 + s * (1.0 / 11 + s * (1.0 / 13 + s / 15))))));
  return static_cast<double>(exponent) * 0.69314718055994530942 + 2.0 * f * series;
}

struct Angle {
  double cosine;
  double sine;
};

// Of 2 pi y 2^-32: the nearest quarter turn, and Taylor series over the rest, |a| <= pi/4
// (first terms left out: a^15/15! = 2e-14, a^16/16! = 1e-15).
Angle angle_of_unit(std::uint32_t y) {
  const std::uint32_t quarter = (y + 0x20000000U) >> 30;
  const auto rest = static_cast<std::int32_t>(y - (quarter << 30));
  const double a = static_cast<double>(rest) * (6.28318530717958647693 * 0x1p-32);
  const double s = a * a;
  const double sine =
      a *
      (1.0 + s * (-1.0 / 6 +
                  s * (1.0 / 120 + s * (-1.0 / 5040 + s * (1.0 / 362880 + s * (-1.0 / 39916800 + s / 6227020800.0))))));
  const double cosine =
      1.0 +
      s * (-1.0 / 2 +
           s * (1.0 / 24 + s * (-1.0 / 720 +
                                s * (1.0 / 40320 + s * (-1.0 / 3628800 + s * (1.0 / 479001600 - s / 87178291200.0))))));
  const bool swap = (quarter & 1U) != 0;
  const double along = swap ? sine : cosine;
  const double across = swap ? cosine : sine;
  return {quarter == 1 || quarter == 2 ? -along : along, (quarter & 2U) != 0 ? -across : across};
}

void box_muller(const std::array<std::uint32_t, kBlocks>& x, const std::array<std::uint32_t, kBlocks>& y, Lane& first,
                Lane& second) {
  for (int b = 0; b < kBlocks; ++b) {
    const double radius = std::sqrt(-2.0 * log_of_unit(x[b]));
    const Angle angle = angle_of_unit(y[b]);
    first[b] = radius * angle.cosine;
    second[b] = radius * angle.sine;
  }
}

std::array<float, kBatch> normal_batch(std::uint64_t seed, std::uint64_t stream, std::uint64_t batch, float deviation) {
  const Words words = philox_batch(seed, stream, batch * kBlocks);
  std::array<Lane, 4> lanes;
  box_muller(words[0], words[1], lanes[0], lanes[1]);
  box_muller(words[2], words[3], lanes[2], lanes[3]);
  std::array<float, kBatch> values;
  for (int b = 0; b < kBlocks; ++b) {
    for (int lane = 0; lane < 4; ++lane) {
      values[4 * b + lane] = static_cast<float>(lanes[lane][b]) * deviation;
    }
  }
  return values;
}

}  // namespace

void fill_normal(std::span<float> out, std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, float deviation) {
  std::uint64_t index = begin;
  while (!out.empty()) {
    const std::array<float, kBatch> values = normal_batch(seed, stream, index / kBatch, deviation);
    const std::size_t from = index % kBatch;
    const std::size_t taken = std::min<std::size_t>(kBatch - from, out.size());
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from), taken, out.begin());
    out = out.subspan(taken);
    index += taken;
  }
}

float random_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  float value = 0.0F;
  fill_normal(std::span(&value, 1), seed, stream, index);
  return value;
}

}  // namespace trainyard
