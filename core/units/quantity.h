// Physical quantities whose dimension is part of the type.
//
//   Quantity<S, B, F> = value * second^S * byte^B * operation^F     (value in SI: s, B, FLOP)
//
// Bytes / BytesPerSecond is Seconds; adding Bytes to Seconds does not compile. A slip of scale (GB for
// GiB, bits for bytes) has nowhere to enter: the literals below, the unit parser (parse_quantity.h) and
// from_si(), for numbers that carry "_s" or "_bytes" in their key, are the only ways in.
#pragma once

#include <cmath>
#include <cstdint>

namespace trainyard {

template <int S, int B, int F>
class Quantity {
 public:
  constexpr Quantity() = default;

  // The number in SI units (seconds, bytes, operations). For files that carry the unit in the key, for
  // plots, and for formulas of powers that the type cannot carry.
  constexpr double si() const { return value_; }

  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) { return value_ += other.value_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value_ -= other.value_, *this; }
  constexpr Quantity& operator*=(double factor) { return value_ *= factor, *this; }
  constexpr Quantity& operator/=(double divisor) { return value_ /= divisor, *this; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double f) { return Quantity(a.value_ * f); }
  friend constexpr Quantity operator*(double f, Quantity a) { return Quantity(a.value_ * f); }
  friend constexpr Quantity operator/(Quantity a, double d) { return Quantity(a.value_ / d); }
  // By hand: a defaulted <=> on a double is a partial ordering and costs branches (GCC 12).
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.value_ > b.value_; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.value_ >= b.value_; }
  friend constexpr bool operator==(Quantity a, Quantity b) { return a.value_ == b.value_; }

 private:
  explicit constexpr Quantity(double value) : value_(value) {}
  template <class Q>
  friend constexpr Q from_si(double value);
  double value_ = 0.0;
};

// A number already in SI units: a clock's seconds, a counter's bytes, a key ending in "_s" or "_bytes".
template <class Q>
constexpr Q from_si(double value) {
  return Q(value);
}

template <int S, int B, int F, int S2, int B2, int F2>
constexpr auto operator*(Quantity<S, B, F> a, Quantity<S2, B2, F2> b) {
  if constexpr (S + S2 == 0 && B + B2 == 0 && F + F2 == 0) {
    return a.si() * b.si();
  } else {
    return from_si<Quantity<S + S2, B + B2, F + F2>>(a.si() * b.si());
  }
}

template <int S, int B, int F, int S2, int B2, int F2>
constexpr auto operator/(Quantity<S, B, F> a, Quantity<S2, B2, F2> b) {
  if constexpr (S == S2 && B == B2 && F == F2) {
    return a.si() / b.si();
  } else {
    return from_si<Quantity<S - S2, B - B2, F - F2>>(a.si() / b.si());
  }
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;  // floating-point operations, not a rate
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;
using PerSecond = Quantity<-1, 0, 0>;

// Event queues and traces use integer nanoseconds, so that runs repeat exactly; formulas use Seconds.
using Nanoseconds = std::int64_t;

constexpr double kNanosecondsPerSecond = 1e9;

inline Nanoseconds to_nanoseconds(Seconds t) {
  return static_cast<Nanoseconds>(std::llround(t.si() * kNanosecondsPerSecond));
}
constexpr Seconds to_seconds(Nanoseconds t) { return from_si<Seconds>(static_cast<double>(t) / kNanosecondsPerSecond); }

template <class Q>
constexpr Q max(Q a, Q b) {
  return a < b ? b : a;
}
template <class Q>
constexpr Q min(Q a, Q b) {
  return b < a ? b : a;
}

inline namespace literals {
constexpr Seconds operator""_s(long double v) { return from_si<Seconds>(static_cast<double>(v)); }
constexpr Seconds operator""_s(unsigned long long v) { return from_si<Seconds>(static_cast<double>(v)); }
constexpr Seconds operator""_ms(long double v) { return from_si<Seconds>(static_cast<double>(v) * 1e-3); }
constexpr Seconds operator""_ms(unsigned long long v) { return from_si<Seconds>(static_cast<double>(v) * 1e-3); }
constexpr Seconds operator""_us(long double v) { return from_si<Seconds>(static_cast<double>(v) * 1e-6); }
constexpr Seconds operator""_us(unsigned long long v) { return from_si<Seconds>(static_cast<double>(v) * 1e-6); }
constexpr Bytes operator""_B(unsigned long long v) { return from_si<Bytes>(static_cast<double>(v)); }
constexpr Bytes operator""_KiB(unsigned long long v) { return from_si<Bytes>(static_cast<double>(v) * 0x1p10); }
constexpr Bytes operator""_MiB(unsigned long long v) { return from_si<Bytes>(static_cast<double>(v) * 0x1p20); }
constexpr Bytes operator""_GiB(unsigned long long v) { return from_si<Bytes>(static_cast<double>(v) * 0x1p30); }
constexpr Bytes operator""_GB(long double v) { return from_si<Bytes>(static_cast<double>(v) * 1e9); }
constexpr Bytes operator""_GB(unsigned long long v) { return from_si<Bytes>(static_cast<double>(v) * 1e9); }
constexpr BytesPerSecond operator""_Gbps(unsigned long long v) {
  return from_si<BytesPerSecond>(static_cast<double>(v) * 1e9 / 8.0);
}
constexpr BytesPerSecond operator""_GBps(long double v) {
  return from_si<BytesPerSecond>(static_cast<double>(v) * 1e9);
}
constexpr BytesPerSecond operator""_GBps(unsigned long long v) {
  return from_si<BytesPerSecond>(static_cast<double>(v) * 1e9);
}
constexpr FlopsPerSecond operator""_TFLOPS(long double v) {
  return from_si<FlopsPerSecond>(static_cast<double>(v) * 1e12);
}
constexpr FlopsPerSecond operator""_TFLOPS(unsigned long long v) {
  return from_si<FlopsPerSecond>(static_cast<double>(v) * 1e12);
}
}  // namespace literals

}  // namespace trainyard
