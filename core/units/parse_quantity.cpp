#include "core/units/parse_quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.h"

namespace trainyard {

namespace {

struct Unit {
  double scale = 1.0;
  Dimension dimension;
};

struct NamedUnit {
  std::string_view name;
  double scale;
};

constexpr std::array kTimes = {
    NamedUnit{"ns", 1e-9},        NamedUnit{"us", 1e-6},   NamedUnit{"\xC2\xB5s", 1e-6},  // micro sign
    NamedUnit{"\xCE\xBCs", 1e-6},                                                         // Greek mu
    NamedUnit{"ms", 1e-3},        NamedUnit{"s", 1.0},     NamedUnit{"min", 60.0},
    NamedUnit{"h", 3600.0},       NamedUnit{"d", 86400.0},
};

constexpr std::array kDecimalPrefixes = {NamedUnit{"", 1.0},   NamedUnit{"k", 1e3},  NamedUnit{"M", 1e6},
                                         NamedUnit{"G", 1e9},  NamedUnit{"T", 1e12}, NamedUnit{"P", 1e15},
                                         NamedUnit{"E", 1e18}, NamedUnit{"Z", 1e21}, NamedUnit{"Y", 1e24}};

constexpr std::array kBinaryPrefixes = {NamedUnit{"Ki", 0x1p10}, NamedUnit{"Mi", 0x1p20}, NamedUnit{"Gi", 0x1p30},
                                        NamedUnit{"Ti", 0x1p40}, NamedUnit{"Pi", 0x1p50}, NamedUnit{"Ei", 0x1p60}};

template <class Table>
std::optional<double> find(const Table& table, std::string_view name) {
  for (const NamedUnit& unit : table) {
    if (unit.name == name) {
      return unit.scale;
    }
  }
  return std::nullopt;
}

// prefix + base, such as "GiB": the prefix's scale.
std::optional<double> prefixed(std::string_view name, std::string_view base, bool binary) {
  if (!name.ends_with(base)) {
    return std::nullopt;
  }
  const std::string_view prefix = name.substr(0, name.size() - base.size());
  const std::optional<double> decimal = find(kDecimalPrefixes, prefix);
  return decimal || !binary ? decimal : find(kBinaryPrefixes, prefix);
}

std::optional<Unit> parse_atom(std::string_view name) {
  if (const auto time = find(kTimes, name)) {
    return Unit{*time, {1, 0, 0}};
  }
  if (const auto bits = prefixed(name, "bit", true)) {
    return Unit{*bits / 8.0, {0, 1, 0}};
  }
  if (const auto bytes = prefixed(name, "B", true)) {
    return Unit{*bytes, {0, 1, 0}};
  }
  if (const auto operations = prefixed(name, "FLOP", false)) {
    return Unit{*operations, {0, 0, 1}};
  }
  return std::nullopt;
}

std::optional<Unit> parse_unit(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    return parse_atom(name);
  }
  const std::string_view above = name.substr(0, slash);
  const std::optional<Unit> numerator = above == "1" ? Unit{} : parse_atom(above);
  const std::optional<double> time = find(kTimes, name.substr(slash + 1));
  if (!numerator || !time || numerator->dimension.seconds != 0) {
    return std::nullopt;
  }
  Unit unit = *numerator;
  unit.scale /= *time;
  unit.dimension.seconds = -1;
  return unit;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

struct NumberAndUnit {
  double number = 0.0;
  std::string_view unit;
};

// from_chars also reads "inf" and "nan"; a quantity starts with a digit or a point.
std::optional<NumberAndUnit> split(std::string_view text) {
  text = trimmed(text);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || std::string_view("0123456789.").find(digits.front()) == std::string_view::npos) {
    return std::nullopt;
  }
  NumberAndUnit result;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), result.number);
  if (status != std::errc() || !std::isfinite(result.number)) {
    return std::nullopt;
  }
  result.unit = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  return result;
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

}  // namespace

std::string unit_hint(Dimension dimension) {
  constexpr std::string_view kByteUnits = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, or bit, kbit, Mbit, Gbit, Tbit";
  if (dimension == Dimension{1, 0, 0}) {
    return "write a time such as \"15 min\"; units: ns, us, ms, s, min, h, d";
  }
  if (dimension == Dimension{0, 1, 0}) {
    return "write a size such as \"80 GiB\"; units: " + std::string(kByteUnits);
  }
  if (dimension == Dimension{-1, 1, 0}) {
    return "write a rate such as \"400 Gbit/s\" or \"3.35 TB/s\"; units per s: " + std::string(kByteUnits);
  }
  if (dimension == Dimension{0, 0, 1}) {
    return "write work such as \"2 PFLOP\"; units: FLOP, MFLOP, GFLOP, TFLOP, PFLOP, EFLOP";
  }
  if (dimension == Dimension{-1, 0, 1}) {
    return "write a rate such as \"989 TFLOP/s\"; units: MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s, EFLOP/s";
  }
  return "write a frequency such as \"0.5 1/h\"; units: 1/s, 1/min, 1/h, 1/d";
}

double parse_si(std::string_view text, Dimension dimension, const std::string& where) {
  const std::optional<NumberAndUnit> parts = split(text);
  if (!parts) {
    throw Error(quoted(text) + " is not a number with a unit", where, unit_hint(dimension));
  }
  if (parts->unit.empty()) {
    throw Error(quoted(text) + " has no unit", where, unit_hint(dimension));
  }
  const std::optional<Unit> unit = parse_unit(parts->unit);
  if (!unit) {
    throw Error(quoted(text) + " has an unknown unit, " + quoted(parts->unit), where, unit_hint(dimension));
  }
  if (unit->dimension != dimension) {
    throw Error(quoted(text) + " is a quantity of another kind", where, unit_hint(dimension));
  }
  const double value = parts->number * unit->scale;
  if (std::signbit(value) && value != 0.0) {
    throw Error(quoted(text) + " is negative", where, unit_hint(dimension));
  }
  if (!std::isfinite(value)) {
    throw Error(quoted(text) + " is too large", where, unit_hint(dimension));
  }
  return value;
}

ByteCount parse_byte_count(std::string_view text, const std::string& where) {
  const double bytes = parse_si(text, dimension_of(Bytes()), where);
  // Above 2^53 a double no longer tells one byte from the next.
  if (bytes != std::floor(bytes) || bytes > 0x1p53) {
    throw Error(quoted(text) + " is not a whole number of bytes", where, unit_hint(dimension_of(Bytes())));
  }
  return ByteCount(static_cast<std::int64_t>(bytes));
}

}  // namespace trainyard
