// Exact integer counts of bytes and of floating-point operations.
//
// What a program says it moves and computes is compared with what the executor counted as integers, so
// those numbers are never doubles. A count turns into a Quantity where a formula needs one; there is no
// way back.
#pragma once

#include <compare>
#include <cstdint>

#include "core/units/quantity.h"

namespace trainyard {

template <class Q>
class Count {
 public:
  constexpr Count() = default;
  explicit constexpr Count(std::int64_t value) : value_(value) {}
  constexpr std::int64_t value() const { return value_; }
  constexpr Q quantity() const { return from_si<Q>(static_cast<double>(value_)); }

  constexpr Count& operator+=(Count other) { return value_ += other.value_, *this; }
  constexpr Count& operator-=(Count other) { return value_ -= other.value_, *this; }
  friend constexpr Count operator+(Count a, Count b) { return Count(a.value_ + b.value_); }
  friend constexpr Count operator-(Count a, Count b) { return Count(a.value_ - b.value_); }
  friend constexpr Count operator*(Count a, std::int64_t n) { return Count(a.value_ * n); }
  friend constexpr Count operator*(std::int64_t n, Count a) { return Count(a.value_ * n); }
  friend constexpr auto operator<=>(Count, Count) = default;

 private:
  std::int64_t value_ = 0;
};

using ByteCount = Count<Bytes>;
using FlopCount = Count<Flops>;

}  // namespace trainyard
