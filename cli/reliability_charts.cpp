#include "cli/reliability_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/chart/plot.h"
#include "core/units/format_quantity.h"

namespace trainyard::cli {

namespace {

using simulator::TimeUse;

constexpr double kDay = 86400.0;
constexpr double kHour = 3600.0;

std::vector<std::pair<double, std::string>> time_ticks(double low, double high) {
  std::vector<std::pair<double, std::string>> ticks;
  for (const double time : {1e-3, 1e-2, 0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4 * kHour, kDay, 7 * kDay,
                            30 * kDay, 365 * kDay}) {
    if (time >= low * 0.999 && time <= high * 1.001) {
      ticks.emplace_back(time, format_quantity(from_si<Seconds>(time)));
    }
  }
  return ticks;
}

// Useful time is most of it, and pale, so that the rest shows.
Colour colour_of(TimeUse use) {
  return use == TimeUse::kUseful ? tint(palette(0), 0.25) : palette(static_cast<std::size_t>(use));
}

Plot interval_plot(const ReliabilityAnswer& answer) {
  Plot plot;
  plot.title = "Goodput by interval between saves";
  plot.subtitle = fmt::format("{} on {} ranks, failures {}", answer.job.plan().model.name, answer.job.domains().ranks(),
                              answer.job.profile().name);
  PlotSeries series{"this policy", {}, {}};
  double lowest = 1.0;
  for (const simulator::IntervalPoint& point : answer.intervals) {
    series.points.push_back({point.storage.si(), point.goodput});
    lowest = std::min(lowest, point.goodput);
  }
  const double low = std::max(0.0, std::floor(lowest * 10.0) / 10.0);
  const double first = series.points.front().x;
  const double last = std::max(series.points.back().x, first * 1.01);
  plot.x = {"interval, work between saves", first, last, true, time_ticks(first, last)};
  plot.y = {"goodput", low, 1.0, false, linear_ticks(low, 1.0, 100.0, " %")};
  plot.series = {std::move(series)};
  plot.marks = {{answer.best.storage.si(), "best " + format_quantity(answer.best.storage)}};
  return plot;
}

Plot scale_plot(const ReliabilityAnswer& answer) {
  Plot plot;
  plot.title = "Time to failure by scale";
  plot.subtitle = "replicas and batch in proportion; range: how far fleets lie apart";
  PlotSeries series{"MTTF", {}, {}};
  double least = INFINITY;
  double most = 0.0;
  for (const simulator::ScaleAnswer& scale : answer.scales) {
    series.points.push_back({static_cast<double>(scale.ranks), scale.mttf.si() / kHour});
    series.band.emplace_back(scale.low.si() / kHour, scale.high.si() / kHour);
    least = std::min(least, scale.low.si() / kHour);
    most = std::max(most, scale.high.si() / kHour);
  }
  plot.y.low = std::pow(10.0, std::floor(std::log10(least)));
  plot.y.high = std::pow(10.0, std::ceil(std::log10(most)));
  plot.y.label = "hours";
  plot.y.logarithmic = true;
  for (double tick = plot.y.low; tick <= plot.y.high * 1.01; tick *= 10.0) {
    plot.y.ticks.emplace_back(tick, fmt::format("{:g}", tick));
  }
  plot.x = {
      "ranks", series.points.front().x, std::max(series.points.back().x, series.points.front().x * 1.01), true, {}};
  for (const Point& point : series.points) {
    const double before = plot.x.ticks.empty() ? 0.0 : plot.x.ticks.back().first;
    if (point.x > 1.5 * before) {
      plot.x.ticks.emplace_back(point.x, fmt::format("{:g}", point.x));
    }
  }
  plot.series = {std::move(series)};
  return plot;
}

Plot month_plot(const ReliabilityAnswer& answer) {
  const std::vector<simulator::TimelineSlice>& slices = answer.simulated->timeline;
  Plot plot;
  plot.title = "One simulated run";
  plot.subtitle =
      fmt::format("run 0 of seed {}; work in the state, and what the time goes to along the foot", answer.options.seed);
  PlotSeries done{"work done", {{0.0, 0.0}}, {}};
  std::vector<bool> seen(simulator::kTimeUses, false);
  for (const simulator::TimelineSlice& slice : slices) {
    done.points.push_back({slice.end.si() / kDay, slice.work / kDay});
    plot.stretches.push_back({slice.begin.si() / kDay, slice.end.si() / kDay, colour_of(slice.use)});
    seen[static_cast<std::size_t>(slice.use)] = true;
  }
  for (std::size_t use = 0; use < simulator::kTimeUses; ++use) {
    if (seen[use]) {
      const auto shown = static_cast<TimeUse>(use);
      plot.legend.emplace_back(std::string(title_of(shown)), colour_of(shown));
    }
  }
  const double days = std::max(slices.back().end.si() / kDay, 1e-6);
  PlotSeries undisturbed{"undisturbed", {{0.0, 0.0}, {days, days}}, {}};
  plot.x = {"days", 0.0, days, false, linear_ticks(0.0, days, 1.0, "")};
  plot.y = {"days of work", 0.0, days, false, linear_ticks(0.0, days, 1.0, "")};
  plot.series = {std::move(done), std::move(undisturbed)};
  return plot;
}

}  // namespace

Drawing reliability_charts(const ReliabilityAnswer& answer) {
  std::vector<Plot> plots = {interval_plot(answer)};
  const bool finite = std::ranges::all_of(answer.scales, [](const simulator::ScaleAnswer& scale) {
    return std::isfinite(scale.mttf.si()) && scale.mttf > Seconds();
  });
  if (!answer.scales.empty() && finite) {
    plots.push_back(scale_plot(answer));
  }
  if (answer.simulated && !answer.simulated->timeline.empty()) {
    plots.push_back(month_plot(answer));
  }
  Drawing drawing{kPlotWidth, kPlotHeight * static_cast<double>(plots.size()), {}};
  for (std::size_t i = 0; i < plots.size(); ++i) {
    draw(plots[i], kPlotHeight * static_cast<double>(i), drawing);
  }
  return drawing;
}

}  // namespace trainyard::cli
