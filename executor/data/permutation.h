// A permutation of 0 .. n-1 without a table: what is at place i is a function of (seed, epoch, i).
//
// Four Feistel rounds on the smallest even number of bits that covers n; values that fall outside are sent
// through again until they land inside ("cycle walking", Black and Rogaway 2002).
#pragma once

#include <cstdint>

namespace trainyard::executor {

class Permutation {
 public:
  Permutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t n);
  std::int64_t at(std::int64_t i) const;

 private:
  std::uint64_t scramble(std::uint64_t value) const;

  std::uint64_t seed_ = 0;
  std::uint64_t stream_ = 0;
  std::uint64_t n_ = 1;
  unsigned half_bits_ = 1;
};

}  // namespace trainyard::executor
