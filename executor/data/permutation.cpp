#include "executor/data/permutation.h"

#include <bit>

#include "core/error.h"
#include "core/random/philox.h"

namespace trainyard::executor {

namespace {
constexpr unsigned kRounds = 4;
}  // namespace

Permutation::Permutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t n)
    : seed_(seed),
      stream_(stream_key("data order") + epoch),
      n_(static_cast<std::uint64_t>(n)),
      half_bits_((static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(n - 1))) + 1) / 2) {
  check(n > 0 && n <= std::int64_t{1} << 60, "a permutation has at least one place");
}

std::uint64_t Permutation::scramble(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = left ^ (random_bits(seed_, stream_, right * kRounds + round) & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

std::int64_t Permutation::at(std::int64_t i) const {
  check(i >= 0 && static_cast<std::uint64_t>(i) < n_, "a place of the permutation");
  auto value = static_cast<std::uint64_t>(i);
  do {
    value = scramble(value);
  } while (value >= n_);
  return static_cast<std::int64_t>(value);
}

}  // namespace trainyard::executor
