// TimeView: the stretch of time that a timeline shows, and how zooming, panning and fitting change it.
//
//   x(t) = (t - begin) / (end - begin) * width          t in ns from the start of the step, x in pixels
//
// Pure functions on values: a view never leaves its limits by more than a tenth of its span.
#pragma once

#include <string>
#include <vector>

#include "core/units/quantity.h"

namespace trainyard::gui {

struct TimeView {
  double begin = 0.0;  // ns
  double end = 1.0;
  double span() const { return end - begin; }
  friend bool operator==(const TimeView&, const TimeView&) = default;
};

constexpr double kShortestView = 20.0;  // ns

double x_of(const TimeView& view, double time, double width);
double time_at(const TimeView& view, double x, double width);

// factor > 1 shows less; the time under `at` stays where it is.
TimeView zoomed(const TimeView& view, double at, double factor, const TimeView& limits);
// By a share of the span; positive shows later times.
TimeView panned(const TimeView& view, double share, const TimeView& limits);
// [begin, end) with a twentieth of room on either side.
TimeView fitted(double begin, double end, const TimeView& limits);
// The same span about the middle of [begin, end).
TimeView centred(const TimeView& view, double begin, double end, const TimeView& limits);

struct TimeTick {
  double time = 0.0;  // ns
  std::string label;  // "1.25 ms"
};

// Steps of 1, 2 or 5 times a power of ten, at least `spacing` pixels apart; labels in the unit of the latest of them,
// with as many decimals as the step has.
std::vector<TimeTick> time_ticks(const TimeView& view, double width, double spacing);

// A duration or a moment to 4 significant digits: "12.35 us", "0 ns".
std::string time_text(double nanoseconds);

}  // namespace trainyard::gui
