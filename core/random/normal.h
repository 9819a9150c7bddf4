// Standard normal numbers, element i of a tensor a function of (seed, stream, i) alone.
//
//   Box-Muller: r = sqrt(-2 ln u), a = 2 pi v;  r cos a and r sin a are independent N(0, 1)
//   u = (x + 1/2) 2^-32 and v = y 2^-32 from two 32-bit words; element i comes from block i / 4 of Philox.
//
// Computed in double with our own polynomials (no libm) and rounded to float once: the same bits on every
// machine and for every way of cutting the range. |value| <= sqrt(-2 ln 2^-33) = 6.76.
//
// Source: Box and Muller 1958.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard {

// out[j] = deviation * N(0, 1) of element begin + j.
void fill_normal(std::span<float> out, std::uint64_t seed, std::uint64_t stream, std::uint64_t begin,
                 float deviation = 1.0F);

float random_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

}  // namespace trainyard
