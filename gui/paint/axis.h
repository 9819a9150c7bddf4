// Axis: numbers to places along a line, and the few of them that get a mark and a label.
//
//   linear       share = (value - low) / (high - low)
//   logarithmic  share = log(value / low) / log(high / low),  low > 0
//
// Ticks are round in the axis' own unit: 1, 2, 5 times a power of ten; of times 1, 2, 5, 10, 15, 30 s and min, 1, 2, 3,
// 6, 12 h, days; of bytes powers of two. All labels of an axis carry the same unit, but on logarithmic ones.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

namespace trainyard::gui {

enum class Scale : std::uint8_t { kLinear, kLogarithmic };

enum class Unit : std::uint8_t {
  kNone,
  kTime,   // s
  kBytes,  // B, shown in binary units
  kShare,  // shown in percent
  kMoney,  // in the user's currency: as the number is
};

struct Tick {
  double value = 0.0;
  QString label;
};

struct Axis {
  QString title;
  double low = 0.0;
  double high = 1.0;  // > low
  Scale scale = Scale::kLinear;
  Unit unit = Unit::kNone;
  double in_unit = 1.0;  // what 1 of the axis' values is in the unit: of milliseconds 1e-3

  double share(double value) const;
  double value(double share) const;
  // About `most` of them, never more; none where the axis is empty or not finite.
  std::vector<Tick> ticks(int most) const;
};

// A value with its unit and three significant digits, as a tooltip says it.
QString with_unit(double value, Unit unit);

// low and high moved outwards to round numbers; equal ones apart. Logarithmic: to 1, 2, 5 times powers of ten.
Axis rounded(Axis axis);

}  // namespace trainyard::gui
