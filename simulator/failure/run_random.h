// Random numbers of one simulated run: a function of (seed, run) and of how many were drawn before, so that a run's
// history doesn't depend on the thread that makes it.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/random/philox.h"

namespace trainyard::simulator {

class RunRandom {
 public:
  RunRandom(std::uint64_t seed, std::uint64_t run) : seed_(seed), run_(run) {}

  // In (0, 1).
  double uniform() {
    if (half_ == 0) {
      block_ = philox_block(seed_, run_, next_++);
    }
    const std::size_t at = 2 * half_;
    half_ = 1 - half_;
    const std::uint64_t bits = block_[at] | std::uint64_t{block_[at + 1]} << 32;
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  }

  double exponential() { return -std::log(uniform()); }  // mean 1

  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

  // Gamma of this shape, scale 1. Marsaglia and Tsang 2000; below 1 by u^(1/shape) times that of shape + 1.
  double gamma(double shape) {
    if (shape < 1.0) {
      const double smaller = std::pow(uniform(), 1.0 / shape);
      return smaller * gamma(shape + 1.0);
    }
    const double d = shape - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
      const double x = normal();
      const double v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
      if (v > 0.0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
        return d * v;
      }
    }
  }

  // Mean 1, Weibull of this shape.
  double weibull(double shape) { return std::pow(exponential(), 1.0 / shape) / std::tgamma(1.0 + 1.0 / shape); }

 private:
  std::uint64_t seed_;
  std::uint64_t run_;
  std::uint64_t next_ = 0;
  std::size_t half_ = 0;
  PhiloxBlock block_{};
};

}  // namespace trainyard::simulator
