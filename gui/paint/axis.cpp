#include "gui/paint/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/units/format_quantity.h"

namespace trainyard::gui {

namespace {

constexpr double kMinute = 60.0;
constexpr double kHour = 3600.0;
constexpr double kDay = 86400.0;
constexpr double kEnd = 1e-6;  // of a step: an end of the axis that is a tick but for rounding

// What a label divides by, and its name.
struct LabelUnit {
  double size = 1.0;
  const char* name = "";
};

LabelUnit time_unit(double step) {
  constexpr std::array<LabelUnit, 6> kUnits = {
      {{kDay, " d"}, {kHour, " h"}, {kMinute, " min"}, {1.0, " s"}, {1e-3, " ms"}, {1e-6, " \u00b5s"}}};
  for (const LabelUnit& unit : kUnits) {
    if (step >= unit.size * 0.9999) {
      return unit;
    }
  }
  return {1e-9, " ns"};
}

LabelUnit byte_unit(double step) {
  constexpr std::array<LabelUnit, 5> kUnits = {
      {{0x1p50, " PiB"}, {0x1p40, " TiB"}, {0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}}};
  for (const LabelUnit& unit : kUnits) {
    if (step >= unit.size * 0.2) {
      return unit;
    }
  }
  return {1.0, " B"};
}

LabelUnit label_unit(double step, Unit unit) {
  switch (unit) {
    case Unit::kTime:
      return time_unit(step);
    case Unit::kBytes:
      return byte_unit(step);
    case Unit::kShare:
      return {0.01, " %"};
    case Unit::kNone:
    case Unit::kMoney:
      break;
  }
  return {};
}

// The least of 1, 2, 5 times a power of ten that is at least this.
double round_up(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * 0.9999) {
      return factor * power;
    }
  }
  return 10.0 * power;
}

double round_step(double least, Unit unit) {
  if (unit == Unit::kTime && least > 1.0) {
    for (const double step : {2.0, 5.0, 10.0, 15.0, 30.0, kMinute, 2 * kMinute, 5 * kMinute, 10 * kMinute, 15 * kMinute,
                              30 * kMinute, kHour, 2 * kHour, 3 * kHour, 6 * kHour, 12 * kHour, kDay}) {
      if (step >= least * 0.9999) {
        return step;
      }
    }
    return kDay * round_up(least / kDay);
  }
  if (unit == Unit::kBytes && least > 1.0) {
    return std::exp2(std::ceil(std::log2(least * 0.9999)));
  }
  return round_up(least);
}

QString number(double value, double step) {
  const double size = std::max(std::abs(value), step);
  if (size >= 1e6 || step < 1e-4) {
    return QString::fromStdString(fmt::format("{:.4g}", value));
  }
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step * 1.0001))));
  const double shown = std::abs(value) < step * 1e-6 ? 0.0 : value;
  return QString::number(shown, 'f', digits);
}

std::vector<Tick> linear_ticks(const Axis& axis, int most) {
  const double least = (axis.high - axis.low) / std::max(1, most);
  double step = round_step(least, axis.unit);
  const auto count = [&] { return std::floor(axis.high / step + kEnd) - std::ceil(axis.low / step - kEnd) + 1.0; };
  while (count() > most && most > 1) {
    step = round_step(step * 1.01, axis.unit);
  }
  const LabelUnit unit = label_unit(step, axis.unit);
  std::vector<Tick> ticks;
  const double margin = step * kEnd;
  for (double place = std::ceil((axis.low - margin) / step); place * step <= axis.high + margin; place += 1.0) {
    const double value = place * step;
    ticks.push_back({value, number(value / unit.size, step / unit.size) + QString::fromUtf8(unit.name)});
  }
  return ticks;
}

// Values that people know, from small to large.
std::vector<double> familiar_values(double low, double high, Unit unit) {
  std::vector<double> values;
  if (unit == Unit::kTime) {
    for (double value = 1e-9; value < 0.99; value *= 10.0) {
      values.push_back(value);
    }
    values.insert(values.end(), {1.0, 5.0, 15.0, kMinute, 5 * kMinute, 15 * kMinute, kHour, 4 * kHour, kDay, 7 * kDay,
                                 30 * kDay, 365 * kDay, 3650 * kDay});
    return values;
  }
  const double base = unit == Unit::kBytes ? 2.0 : 10.0;
  const double first = std::floor(std::log(low) / std::log(base));
  const double last = std::ceil(std::log(high) / std::log(base));
  for (double power = first; power <= last; power += 1.0) {
    values.push_back(std::pow(base, power));
  }
  return values;
}

// Each decade's 1, 2, 5 where whole decades are too few.
std::vector<double> finer(const std::vector<double>& decades) {
  std::vector<double> values;
  for (const double decade : decades) {
    values.insert(values.end(), {decade, 2.0 * decade, 5.0 * decade});
  }
  return values;
}

std::vector<double> inside(const std::vector<double>& values, double low, double high) {
  std::vector<double> kept;
  std::copy_if(values.begin(), values.end(), std::back_inserter(kept),
               [&](double value) { return value >= low * 0.9999 && value <= high * 1.0001; });
  return kept;
}

std::vector<Tick> log_ticks(const Axis& axis, int most) {
  const std::vector<double> familiar = familiar_values(axis.low, axis.high, axis.unit);
  std::vector<double> values = inside(familiar, axis.low, axis.high);
  if (axis.unit != Unit::kTime && axis.unit != Unit::kBytes) {
    std::vector<double> more = inside(finer(familiar), axis.low, axis.high);
    if (values.size() < 3 && static_cast<int>(more.size()) <= most) {
      values = std::move(more);
    }
  }
  if (values.size() < 2) {
    return linear_ticks(axis, most);
  }
  const auto every = (values.size() + static_cast<std::size_t>(most) - 1) / static_cast<std::size_t>(most);
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < values.size(); i += every) {
    ticks.push_back({values[i], with_unit(values[i], axis.unit)});
  }
  return ticks;
}

Axis in_own_unit(Axis axis) {
  axis.low *= axis.in_unit;
  axis.high *= axis.in_unit;
  axis.in_unit = 1.0;
  return axis;
}

}  // namespace

double Axis::share(double value) const {
  if (scale == Scale::kLogarithmic) {
    return std::log(std::max(value, low * 1e-12) / low) / std::log(high / low);
  }
  return (value - low) / (high - low);
}

double Axis::value(double share) const {
  if (scale == Scale::kLogarithmic) {
    return low * std::pow(high / low, share);
  }
  return low + share * (high - low);
}

std::vector<Tick> Axis::ticks(int most) const {
  const bool usable = std::isfinite(low) && std::isfinite(high) && high > low && most > 0;
  if (!usable || (scale == Scale::kLogarithmic && low <= 0.0)) {
    return {};
  }
  const Axis own = in_own_unit(*this);
  std::vector<Tick> ticks = scale == Scale::kLogarithmic ? log_ticks(own, most) : linear_ticks(own, most);
  for (Tick& tick : ticks) {
    tick.value /= in_unit;
  }
  return ticks;
}

namespace {

// One digit after the point, two above 99 %, where what lacks matters; two digits in all of what is tiny.
QString percent(double value) {
  const double size = std::abs(value);
  if (std::abs(value - std::round(value)) < 1e-9) {
    return QString::fromStdString(fmt::format("{:.0f} %", value));
  }
  if (size > 0.0 && size < 0.001) {
    return QStringLiteral("< 0.001 %");
  }
  if (size < 0.1) {
    return QString::fromStdString(fmt::format("{:.2g} %", value));
  }
  return QString::fromStdString(size > 99.0 && size < 100.0 ? fmt::format("{:.2f} %", value)
                                                            : fmt::format("{:.1f} %", value));
}

}  // namespace

QString with_unit(double value, Unit unit) {
  switch (unit) {
    case Unit::kTime:
      return QString::fromStdString(format_quantity(from_si<Seconds>(value)));
    case Unit::kBytes:
      return QString::fromStdString(format_quantity(from_si<Bytes>(value)));
    case Unit::kShare:
      return percent(100.0 * value);
    case Unit::kNone:
    case Unit::kMoney:
      break;
  }
  const bool whole = std::abs(value) < 1e6 && std::abs(value - std::round(value)) < 1e-9 * std::abs(value);
  return QString::fromStdString(whole ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value));
}

namespace {

Axis rounded_in_own_unit(Axis axis) {
  if (axis.scale == Scale::kLogarithmic) {
    const double low = std::max(axis.low, 1e-300);
    axis.high = round_up(std::max(axis.high, low) * 1.0001);
    axis.low = 1.0 / round_up(1.0 / low);
    if (!(axis.high > axis.low * 1.5)) {
      axis.high = axis.low * 10.0;
    }
    return axis;
  }
  if (!(axis.high > axis.low)) {
    const double apart = std::max(std::abs(axis.low) * 0.1, 1e-9);
    axis.low -= apart;
    axis.high += apart;
  }
  const double step = round_step((axis.high - axis.low) / 5.0, axis.unit);
  axis.low = std::floor(axis.low / step + 1e-9) * step;
  axis.high = std::ceil(axis.high / step - 1e-9) * step;
  return axis;
}

}  // namespace

Axis rounded(Axis axis) {
  const Axis own = rounded_in_own_unit(in_own_unit(axis));
  axis.low = own.low / axis.in_unit;
  axis.high = own.high / axis.in_unit;
  return axis;
}

}  // namespace trainyard::gui
