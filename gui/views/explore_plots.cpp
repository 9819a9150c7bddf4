#include "gui/views/explore_plots.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <set>

namespace trainyard::gui {

namespace {

constexpr std::size_t kMostTicks = 12;  // of an axis of degrees: beyond, its own

QString tr(const char* text) { return QCoreApplication::translate("ExplorePlots", text); }

bool in_words(PlanColumn column) { return column == PlanColumn::kSchedule || column == PlanColumn::kRecompute; }

std::set<double> values_in(const std::vector<const PlanRow*>& rows, PlanColumn column) {
  std::set<double> values;
  for (const PlanRow* row : rows) {
    const double value = value_of(*row, column);
    if (std::isfinite(value)) {
      values.insert(value);
    }
  }
  return values;
}

// Results that lie over a decade apart get a logarithmic axis.
Scale scale_for(double low, double high) {
  return low > 0.0 && high > 12.0 * low ? Scale::kLogarithmic : Scale::kLinear;
}

struct ShownUnit {
  Unit unit = Unit::kNone;
  double in_unit = 1.0;
};

// Columns hold milliseconds, GiB and percent; their axes say "2 min", "1 TiB".
ShownUnit shown_unit(PlanColumn column) {
  switch (column) {
    case PlanColumn::kStepTime:
      return {Unit::kTime, 1e-3};
    case PlanColumn::kMemory:
      return {Unit::kBytes, 0x1p30};
    case PlanColumn::kMfu:
    case PlanColumn::kBubble:
    case PlanColumn::kCommunication:
    case PlanColumn::kGoodput:
      return {Unit::kShare, 0.01};
    default:
      return {};
  }
}

// An axis that carries its unit at each tick doesn't need it in its name.
QString axis_name(PlanColumn column) {
  return shown_unit(column).unit == Unit::kNone ? heading_of(column) : title_of(column);
}

bool differs_in_words(const std::vector<const PlanRow*>& rows, PlanColumn column) {
  const auto first = std::find_if(rows.begin(), rows.end(),
                                  [column](const PlanRow* row) { return std::isfinite(value_of(*row, column)); });
  if (first == rows.end()) {
    return false;
  }
  const double value = value_of(**first, column);
  const QString text = value_text(column, value);
  return std::any_of(first, rows.end(), [&](const PlanRow* row) {
    const double other = value_of(*row, column);
    return std::isfinite(other) && other != value && value_text(column, other) != text;
  });
}

Axis spread_axis(const std::set<double>& values, PlanColumn column) {
  const ShownUnit shown = shown_unit(column);
  Axis axis{axis_name(column), *values.begin(), *values.rbegin(), Scale::kLinear, shown.unit, shown.in_unit};
  axis.scale = scale_for(axis.low, axis.high);
  return rounded(axis);
}

}  // namespace

QString heading_of(PlanColumn column) {
  const QString unit = unit_of(column);
  return unit.isEmpty() ? title_of(column) : QStringLiteral("%1 (%2)").arg(title_of(column), unit);
}

std::vector<PlanColumn> columns_of(const std::vector<const PlanRow*>& rows) {
  std::vector<PlanColumn> degrees;
  std::vector<PlanColumn> results;
  for (int i = 0; i < kPlanColumns; ++i) {
    const auto column = static_cast<PlanColumn>(i);
    if (column != PlanColumn::kLayout && differs_in_words(rows, column)) {
      (is_degree(column) ? degrees : results).push_back(column);
    }
  }
  degrees.insert(degrees.end(), results.begin(), results.end());
  return degrees;
}

std::vector<PlanColumn> metrics_of(const std::vector<const PlanRow*>& rows) {
  std::vector<PlanColumn> metrics;
  for (int i = 0; i < kPlanColumns; ++i) {
    const auto column = static_cast<PlanColumn>(i);
    if (column != PlanColumn::kLayout && !is_degree(column) && !values_in(rows, column).empty()) {
      metrics.push_back(column);
    }
  }
  return metrics;
}

ParallelAxis axis_of(const std::vector<const PlanRow*>& rows, PlanColumn column) {
  ParallelAxis result;
  result.name = axis_name(column);
  result.tip = QStringLiteral("%1\n%2\n%3")
                   .arg(heading_of(column), meaning_of(column),
                        tr("Drag along the axis to keep a range; click here to colour by it; drag here to move it."));
  const std::set<double> values = values_in(rows, column);
  if (values.empty()) {
    return result;
  }
  if (!is_degree(column)) {
    result.axis = spread_axis(values, column);
    return result;
  }
  const double low = *values.begin();
  const double high = *values.rbegin();
  const bool apart = low >= 1.0 && high > 4.0 * low && !in_words(column);
  result.axis = Axis{result.name, low, high, apart ? Scale::kLogarithmic : Scale::kLinear, Unit::kNone};
  if (!(high > low)) {
    result.axis.low = low - 0.5;
    result.axis.high = high + 0.5;
  }
  if (values.size() <= kMostTicks) {
    for (const double value : values) {
      result.ticks.push_back({value, in_words(column) ? value_text(column, value) : with_unit(value, Unit::kNone)});
    }
  }
  return result;
}

// From the worst to the best; without those that have no value.
std::vector<double> ranked_values(const std::vector<const PlanRow*>& rows, PlanColumn column) {
  std::vector<double> values;
  for (const PlanRow* row : rows) {
    const double value = value_of(*row, column);
    if (std::isfinite(value)) {
      values.push_back(value);
    }
  }
  std::sort(values.begin(), values.end());
  if (smaller_is_better(column)) {
    std::reverse(values.begin(), values.end());
  }
  return values;
}

std::vector<double> shades_of(const std::vector<const PlanRow*>& rows, PlanColumn column) {
  const std::vector<double> ranked = ranked_values(rows, column);
  std::vector<double> shades(rows.size(), 0.0);
  if (ranked.empty() || ranked.front() == ranked.back()) {
    shades.assign(rows.size(), 1.0);
    return shades;
  }
  const bool smaller = smaller_is_better(column);
  const auto worse = [smaller](double a, double b) { return smaller ? a > b : a < b; };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double value = value_of(*rows[i], column);
    if (std::isfinite(value)) {
      const auto [from, to] = std::equal_range(ranked.begin(), ranked.end(), value, worse);
      const auto place = static_cast<double>((from - ranked.begin()) + (to - ranked.begin()) - 1) / 2.0;
      shades[i] = place / static_cast<double>(ranked.size() - 1);
    }
  }
  return shades;
}

RampLabels ramp_labels(const std::vector<const PlanRow*>& rows, PlanColumn column) {
  const std::vector<double> ranked = ranked_values(rows, column);
  if (ranked.empty() || ranked.front() == ranked.back()) {
    return {};
  }
  return {title_of(column), value_text(column, ranked.front()), value_text(column, ranked[ranked.size() / 2]),
          value_text(column, ranked.back())};
}

ParallelPlot parallel_plot(const std::vector<const PlanRow*>& rows, const std::vector<PlanColumn>& columns,
                           PlanColumn shade, const std::vector<char>& passes) {
  ParallelPlot plot;
  for (const PlanColumn column : columns) {
    plot.axes.push_back(axis_of(rows, column));
  }
  for (const PlanRow* row : rows) {
    std::vector<double> values;
    for (const PlanColumn column : columns) {
      values.push_back(value_of(*row, column));
    }
    plot.values.push_back(std::move(values));
  }
  plot.shades = shades_of(rows, shade);
  plot.passes = passes;
  plot.shaded = values_in(rows, shade).size() > 1;
  const auto at = std::find(columns.begin(), columns.end(), shade);
  plot.shaded_by = at == columns.end() ? -1 : static_cast<int>(at - columns.begin());
  return plot;
}

ScatterPlot scatter_plot(const std::vector<const PlanRow*>& rows, PlanColumn x, PlanColumn y, PlanColumn shade,
                         const std::vector<char>& passes) {
  ScatterPlot plot;
  const std::set<double> x_values = values_in(rows, x);
  const std::set<double> y_values = values_in(rows, y);
  if (x_values.empty() || y_values.empty()) {
    return plot;
  }
  plot.x = spread_axis(x_values, x);
  plot.y = spread_axis(y_values, y);
  const std::vector<double> shades = shades_of(rows, shade);
  plot.shaded = values_in(rows, shade).size() > 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    plot.points.push_back({value_of(*rows[i], x), value_of(*rows[i], y), shades[i], passes[i] != 0, false});
  }
  plot.front = pareto_front(plot.points, !smaller_is_better(x), !smaller_is_better(y));
  return plot;
}

QString tip_of(const PlanRow& row, const std::vector<PlanColumn>& columns) {
  QString text = QString::fromStdString(row.text);
  for (const PlanColumn column : columns) {
    if (!is_degree(column) && std::isfinite(value_of(row, column))) {
      text += QStringLiteral("\n%1: %2").arg(title_of(column), value_text(column, value_of(row, column)));
    }
  }
  return text;
}

}  // namespace trainyard::gui
