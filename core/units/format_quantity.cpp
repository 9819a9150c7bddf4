#include "core/units/format_quantity.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <string_view>

namespace trainyard {

namespace {

struct Step {
  double scale;
  std::string_view unit;
};

constexpr std::array kBinaryBytes = {Step{1.0, "B"},      Step{0x1p10, "KiB"}, Step{0x1p20, "MiB"}, Step{0x1p30, "GiB"},
                                     Step{0x1p40, "TiB"}, Step{0x1p50, "PiB"}, Step{0x1p60, "EiB"}};
constexpr std::array kTimes = {Step{1e-9, "ns"},   Step{1e-6, "us"},  Step{1e-3, "ms"},   Step{1.0, "s"},
                               Step{120.0, "min"}, Step{7200.0, "h"}, Step{172800.0, "d"}};
constexpr std::array kByteRates = {Step{1.0, "B/s"},  Step{1e3, "kB/s"},  Step{1e6, "MB/s"},
                                   Step{1e9, "GB/s"}, Step{1e12, "TB/s"}, Step{1e15, "PB/s"}};
constexpr std::array kWork = {Step{1.0, "FLOP"},   Step{1e3, "kFLOP"},  Step{1e6, "MFLOP"},
                              Step{1e9, "GFLOP"},  Step{1e12, "TFLOP"}, Step{1e15, "PFLOP"},
                              Step{1e18, "EFLOP"}, Step{1e21, "ZFLOP"}, Step{1e24, "YFLOP"}};
constexpr std::array kFrequencies = {Step{1.0 / 86400, "1/d"}, Step{1.0 / 3600, "1/h"}, Step{1.0, "1/s"}};

// Minutes, hours and days start at two of them: "90 s" says more than "1.5 min".
double divisor(const Step& step) {
  return step.unit == "min" || step.unit == "h" || step.unit == "d" ? step.scale / 2.0 : step.scale;
}

std::string three_digits(double value) {
  if (value == std::round(value) || std::abs(value) >= 99.95) {
    return fmt::format("{:.0f}", value);
  }
  const double size = std::abs(value);
  if (size >= 9.995) {
    return fmt::format("{:.1f}", value);
  }
  if (size >= 0.9995) {
    return fmt::format("{:.2f}", value);
  }
  return fmt::format("{:.3g}", value);
}

// The largest unit not above the value as it will be printed: 0.99996 s is "1.00 s", not "1000 ms".
std::string in_steps(double value, std::span<const Step> steps, std::string_view suffix = "") {
  if (!std::isfinite(value)) {
    return fmt::format("{} {}{}", value, steps.front().unit, suffix);
  }
  constexpr double kHalfLastDigit = 0.9995;
  const Step* chosen = &steps.front();
  for (const Step& step : steps) {
    if (std::abs(value) >= step.scale * kHalfLastDigit) {
      chosen = &step;
    }
  }
  return fmt::format("{} {}{}", three_digits(value / divisor(*chosen)), chosen->unit, suffix);
}

std::string in_times(double seconds) { return seconds == 0.0 ? "0 s" : in_steps(seconds, kTimes); }

}  // namespace

std::string format_quantity(Bytes bytes) { return in_steps(bytes.si(), kBinaryBytes); }
std::string format_quantity(ByteCount bytes) { return format_quantity(bytes.quantity()); }
std::string format_quantity(Seconds time) { return in_times(time.si()); }
std::string format_quantity(BytesPerSecond rate) { return in_steps(rate.si(), kByteRates); }
std::string format_quantity(Flops work) { return in_steps(work.si(), kWork); }
std::string format_quantity(FlopCount work) { return format_quantity(work.quantity()); }
std::string format_quantity(FlopsPerSecond rate) { return in_steps(rate.si(), kWork, "/s"); }

std::string format_quantity(PerSecond frequency) {
  const double value = frequency.si();
  const Step* chosen = &kFrequencies.front();
  for (const Step& step : kFrequencies) {
    if (value >= step.scale) {
      chosen = &step;
    }
  }
  return fmt::format("{} {}", three_digits(value / chosen->scale), chosen->unit);
}

std::string exact_text(ByteCount bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  std::int64_t value = bytes.value();
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && value != 0 && value % 1024 == 0) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", value, kUnits[unit]);
}

}  // namespace trainyard
