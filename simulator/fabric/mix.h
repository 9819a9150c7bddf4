// A good 64-bit mixer: flows' hashes and colours of the symmetric reduction.
//
// Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64's finaliser).
#pragma once

#include <cstdint>

namespace trainyard::simulator {

constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Ordered: mix(a, b) isn't mix(b, a).
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }

}  // namespace trainyard::simulator
