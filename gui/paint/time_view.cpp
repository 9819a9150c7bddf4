#include "gui/paint/time_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace trainyard::gui {

namespace {

struct TimeUnit {
  double nanoseconds = 1.0;
  int power = 0;  // of ten
  const char* name = "ns";
};

constexpr std::array<TimeUnit, 4> kUnits = {{{1e9, 9, "s"}, {1e6, 6, "ms"}, {1e3, 3, "us"}, {1.0, 0, "ns"}}};

const TimeUnit& unit_of(double nanoseconds) {
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const TimeUnit& candidate) {
    return std::abs(nanoseconds) >= candidate.nanoseconds;
  });
  return unit == kUnits.end() ? kUnits.back() : *unit;
}

TimeView kept_within(TimeView view, const TimeView& limits) {
  const double longest = limits.span() * 1.2;
  if (view.span() > longest) {
    const double middle = (view.begin + view.end) / 2.0;
    view = {middle - longest / 2.0, middle + longest / 2.0};
  }
  const double room = view.span() * 0.1;
  if (view.begin < limits.begin - room) {
    const double shift = limits.begin - room - view.begin;
    view = {view.begin + shift, view.end + shift};
  } else if (view.end > limits.end + room) {
    const double shift = view.end - limits.end - room;
    view = {view.begin - shift, view.end - shift};
  }
  return view;
}

}  // namespace

double x_of(const TimeView& view, double time, double width) { return (time - view.begin) / view.span() * width; }

double time_at(const TimeView& view, double x, double width) {
  return view.begin + x / std::max(width, 1.0) * view.span();
}

TimeView zoomed(const TimeView& view, double at, double factor, const TimeView& limits) {
  const double span = std::max(view.span() / factor, kShortestView);
  const double place = (at - view.begin) / view.span();
  const double begin = at - place * span;
  return kept_within({begin, begin + span}, limits);
}

TimeView panned(const TimeView& view, double share, const TimeView& limits) {
  const double shift = view.span() * share;
  return kept_within({view.begin + shift, view.end + shift}, limits);
}

TimeView fitted(double begin, double end, const TimeView& limits) {
  const double span = std::max(end - begin, kShortestView);
  const double middle = (begin + end) / 2.0;
  return kept_within({middle - 0.55 * span, middle + 0.55 * span}, limits);
}

TimeView centred(const TimeView& view, double begin, double end, const TimeView& limits) {
  const double middle = (begin + end) / 2.0;
  return kept_within({middle - view.span() / 2.0, middle + view.span() / 2.0}, limits);
}

std::vector<TimeTick> time_ticks(const TimeView& view, double width, double spacing) {
  std::vector<TimeTick> ticks;
  if (width < 1.0 || view.span() <= 0.0) {
    return ticks;
  }
  const double least = std::max(view.span() * spacing / width, 1.0);
  int power = static_cast<int>(std::floor(std::log10(least)));
  double step = std::pow(10.0, power);
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * std::pow(10.0, power) >= least * (1.0 - 1e-12)) {
      step = factor * std::pow(10.0, power);
      power += factor > 9.0 ? 1 : 0;
      break;
    }
  }
  const TimeUnit& unit = unit_of(std::max(std::abs(view.begin), std::abs(view.end)));
  const int decimals = std::max(unit.power - power, 0);
  for (double n = std::ceil(view.begin / step); n * step <= view.end; n += 1.0) {
    ticks.push_back({n * step, fmt::format("{:.{}f} {}", n * step / unit.nanoseconds + 0.0, decimals, unit.name)});
  }
  return ticks;
}

std::string time_text(double nanoseconds) {
  const TimeUnit& unit = unit_of(nanoseconds);
  return fmt::format("{:.4g} {}", nanoseconds / unit.nanoseconds, unit.name);
}

}  // namespace trainyard::gui
