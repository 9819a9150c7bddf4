// A number with its published range: what carries the disagreement of sources into the answer's interval.
//
//   low and high are read as the 5th and 95th percentile of a log-normal (quantities) or, for shares, of a logistic
//   normal around `value`; equal ones are exact numbers.
#pragma once

namespace trainyard::simulator {

template <class T>
struct Ranged {
  T value{};
  T low{};
  T high{};
};

template <class T>
constexpr Ranged<T> exactly(T value) {
  return {value, value, value};
}

}  // namespace trainyard::simulator
