// Text with a unit -> quantity: "400 Gbit/s", "80 GiB", "15 min", "989 TFLOP/s", "2.5 us".
//
//   text = number [space] unit,  unit = atom | atom "/" time | "1/" time
//   time   ns us ms s min h d
//   bytes  B bit, with k M G T P E (powers of 1000) or Ki Mi Gi Ti Pi Ei (powers of 1024)
//   work   FLOP, with k M G T P E Z Y
//
// A bare number, an unknown unit ("KB", "Gb", "TFLOPS": their meaning is disputed) or a unit of another
// dimension is an Error that names the accepted ones. Negative and non-finite numbers are Errors too.
#pragma once

#include <string>
#include <string_view>

#include "core/units/count.h"
#include "core/units/quantity.h"

namespace trainyard {

struct Dimension {
  int seconds = 0;
  int bytes = 0;
  int operations = 0;
  friend bool operator==(const Dimension&, const Dimension&) = default;
};

template <int S, int B, int F>
constexpr Dimension dimension_of(Quantity<S, B, F>) {
  return {S, B, F};
}

// The value in SI units. `where` names what is read, for the Error.
double parse_si(std::string_view text, Dimension dimension, const std::string& where);

// `write a size such as "80 GiB"; units: ...`
std::string unit_hint(Dimension dimension);

template <class Q>
Q parse_quantity(std::string_view text, const std::string& where) {
  return from_si<Q>(parse_si(text, dimension_of(Q()), where));
}

// A whole number of bytes, exactly; "0.3 B" is an Error.
ByteCount parse_byte_count(std::string_view text, const std::string& where);

}  // namespace trainyard
