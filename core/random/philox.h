// Counter-based random numbers: functions of (seed, stream, index), with no state to carry along, so that
// any layout draws the same weights and the same data whoever draws which part.
//
//   Philox4x32-10: ten rounds of two 32 x 32 -> 64 bit products over a 128-bit counter, keyed with 64 bits
//   counter = (block, stream), key = seed; a block gives four 32-bit or two 64-bit numbers
//
// Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel Random Numbers: As Easy as 1, 2, 3".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace trainyard {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiply0 = 0xD2511F53;
  constexpr std::uint64_t kMultiply1 = 0xCD9E8D57;
  constexpr std::uint32_t kKeyStep0 = 0x9E3779B9;
  constexpr std::uint32_t kKeyStep1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiply0 * counter[0];
    const std::uint64_t product1 = kMultiply1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += kKeyStep0;
    key[1] += kKeyStep1;
  }
  return counter;
}

constexpr PhiloxBlock philox_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) {
  return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                     static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

// 64 uniform bits.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const PhiloxBlock block = philox_block(seed, stream, index / 2);
  const std::size_t half = 2 * (index % 2);
  return block[half] | std::uint64_t{block[half + 1]} << 32;
}

// Uniform in [0, 1), 53 bits.
constexpr double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<double>(random_bits(seed, stream, index) >> 11) * 0x1p-53;
}

// Uniform in [0, limit), limit > 0. The bias is below limit / 2^64.
constexpr std::uint64_t random_below(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                                     std::uint64_t limit) {
  // High half of the 128-bit product, from 32-bit halves.
  const std::uint64_t bits = random_bits(seed, stream, index);
  const std::uint64_t low = (bits & 0xFFFFFFFF) * (limit & 0xFFFFFFFF);
  const std::uint64_t cross = (bits >> 32) * (limit & 0xFFFFFFFF) + (low >> 32);
  const std::uint64_t middle = (bits & 0xFFFFFFFF) * (limit >> 32) + (cross & 0xFFFFFFFF);
  return (bits >> 32) * (limit >> 32) + (cross >> 32) + (middle >> 32);
}

// The stream of a name ("model.norm.weight", "data order"): XXH3 64-bit, the same on every machine.
std::uint64_t stream_key(std::string_view name);

}  // namespace trainyard
