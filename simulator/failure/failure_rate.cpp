#include "simulator/failure/failure_rate.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr double kHour = 3600.0;
constexpr double kDay = 86400.0;
constexpr double kYear = 365.25 * kDay;
constexpr double kFitHours = 1e9;

struct Period {
  std::string_view name;
  double seconds;
};
constexpr std::array kPeriods = {Period{"hour", kHour}, Period{"day", kDay}, Period{"week", 7.0 * kDay},
                                 Period{"month", kYear / 12.0}, Period{"year", kYear}};

constexpr std::array kThings = {Exposure::kNode,   Exposure::kGpu,  Exposure::kNic, Exposure::kCable,
                                Exposure::kSwitch, Exposure::kRack, Exposure::kJob};

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) {
    return false;
  }
  text.remove_prefix(start.size());
  return true;
}

std::optional<double> period_of(std::string_view name) {
  for (const Period& period : kPeriods) {
    if (name == period.name || (name.ends_with('s') && name.substr(0, name.size() - 1) == period.name)) {
      return period.seconds;
    }
  }
  return std::nullopt;
}

std::optional<FailureRate> parse(std::string_view text) {
  double number = 0.0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || !std::isfinite(number) || number < 0.0) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  const double fit = number / (kFitHours * kHour);
  if (text == " FIT per GPU") {
    return FailureRate{from_si<PerSecond>(fit), Exposure::kGpu};
  }
  if (text == " FIT per GB") {
    return FailureRate{from_si<PerSecond>(fit), Exposure::kGigabyte};
  }
  if (!take(text, " per ")) {
    return std::nullopt;
  }
  const double count = take(text, "1000 ") ? 1000.0 : 1.0;
  for (const Exposure thing : kThings) {
    std::string_view rest = text;
    if (take(rest, to_string(thing)) && take(rest, "-")) {
      if (const auto period = period_of(rest)) {
        return FailureRate{from_si<PerSecond>(number / (count * *period)), thing};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Exposure exposure) {
  switch (exposure) {
    case Exposure::kNode:
      return "node";
    case Exposure::kGpu:
      return "GPU";
    case Exposure::kNic:
      return "NIC";
    case Exposure::kCable:
      return "cable";
    case Exposure::kSwitch:
      return "switch";
    case Exposure::kRack:
      return "rack";
    case Exposure::kJob:
      return "job";
    case Exposure::kGigabyte:
      return "GB";
  }
  return "?";
}

FailureRate parse_failure_rate(std::string_view text, const std::string& where) {
  if (const auto rate = parse(text)) {
    return *rate;
  }
  throw Error("\"" + std::string(text) + "\" is not a failure rate", where,
              "for example \"3.79 per 1000 node-days\", \"0.87 per job-day\", \"0.00051 per switch-month\", "
              "\"514 FIT per GPU\" or \"117 FIT per GB\"");
}

}  // namespace trainyard::simulator
