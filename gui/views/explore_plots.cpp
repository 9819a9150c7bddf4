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

Axis spread_axis(const std::set<double>& values, PlanColumn column) {
  Axis axis{heading_of(column), *values.begin(), *values.rbegin(), Scale::kLinear, Unit::kNone};
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
    if (column != PlanColumn::kLayout && values_in(rows, column).size() > 1) {
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
  result.name = heading_of(column);
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

std::vector<double> shades_of(const std::vector<const PlanRow*>& rows, PlanColumn column) {
  const std::set<double> values = values_in(rows, column);
  std::vector<double> shades(rows.size(), 0.0);
  if (values.empty()) {
    return shades;
  }
  Axis axis{{}, *values.begin(), *values.rbegin(), Scale::kLinear, Unit::kNone};
  axis.scale = scale_for(axis.low, axis.high);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double value = value_of(*rows[i], column);
    if (std::isfinite(value)) {
      const double share = axis.high > axis.low ? axis.share(value) : 1.0;
      shades[i] = smaller_is_better(column) ? 1.0 - share : share;
    }
  }
  return shades;
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
  const std::set<double> shade_values = values_in(rows, shade);
  if (x_values.empty() || y_values.empty()) {
    return plot;
  }
  plot.x = spread_axis(x_values, x);
  plot.y = spread_axis(y_values, y);
  const std::vector<double> shades = shades_of(rows, shade);
  if (shade_values.size() > 1) {
    const bool smaller = smaller_is_better(shade);
    plot.shade_title = title_of(shade);
    plot.shade_low = value_text(shade, smaller ? *shade_values.rbegin() : *shade_values.begin());
    plot.shade_high = value_text(shade, smaller ? *shade_values.begin() : *shade_values.rbegin());
  }
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
