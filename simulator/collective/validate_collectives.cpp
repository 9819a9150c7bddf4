#include "simulator/collective/validate_collectives.h"

#include <algorithm>
#include <cmath>

namespace trainyard::simulator {

namespace {

constexpr Bytes kLarge = 1_MiB;

struct Scored {
  double error = 0.0;
  bool inside = false;
};

double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::optional<ErrorSummary> summarise(const std::vector<Scored>& scored) {
  if (scored.empty()) {
    return std::nullopt;
  }
  ErrorSummary summary;
  summary.rows = static_cast<int>(scored.size());
  std::vector<double> errors;
  int inside = 0;
  for (const Scored& row : scored) {
    errors.push_back(std::abs(row.error));
    inside += row.inside ? 1 : 0;
  }
  std::sort(errors.begin(), errors.end());
  summary.median = quantile(errors, 0.5);
  summary.p90 = quantile(errors, 0.9);
  summary.coverage = static_cast<double>(inside) / static_cast<double>(scored.size());
  return summary;
}

ValidationRow validate_row(const ClassifiedCollective& point, const CurveTable& table,
                           const std::vector<CollectiveAnchor>& anchors) {
  ValidationRow row;
  row.id = point.row.id;
  row.reason = point.reason;
  row.flags = point.flags;
  row.excluded = point.excluded;
  row.size = point.size;
  row.measured = point.measured;
  if (!row.reason.empty()) {
    return row;
  }
  const std::string key = system_key(point.site, point.op, point.shape.curve_class());
  const CurvePrediction prediction =
      predict(point.shape, table_for(anchors, table, key), point.size, point.series, point.source);
  row.predicted = prediction.bus;
  row.low = prediction.low;
  row.high = prediction.high;
  row.error = prediction.bus / point.measured - 1.0;
  row.curve_class = prediction.curve_class;
  row.evidence = prediction.evidence;
  return row;
}

void leave_out(const std::vector<ClassifiedCollective>& points, std::vector<ValidationRow>& rows) {
  const std::vector<LeftOut> left_out = leave_one_source_out(fit_observations(points));
  std::size_t next = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].reason.empty() && !points[i].excluded && points[i].size) {
      rows[i].left_out_error = std::exp(left_out[next++].log_error) - 1.0;
    }
  }
}

ValidationSummary summarise_rows(const std::vector<ValidationRow>& rows) {
  ValidationSummary summary;
  summary.rows = static_cast<int>(rows.size());
  std::vector<Scored> all;
  std::vector<Scored> large;
  std::vector<Scored> small;
  std::vector<Scored> left_out_large;
  std::vector<Scored> left_out_small;
  std::map<std::string, std::vector<Scored>> classes;
  for (const ValidationRow& row : rows) {
    summary.scored += row.reason.empty() ? 1 : 0;
    summary.excluded += row.reason.empty() && row.excluded ? 1 : 0;
    if (!row.reason.empty() || row.excluded || !row.size) {
      continue;
    }
    const Scored scored = {row.error, row.measured >= row.low && row.measured <= row.high};
    const bool is_large = *row.size >= kLarge;
    all.push_back(scored);
    (is_large ? large : small).push_back(scored);
    if (is_large) {
      classes[row.curve_class].push_back(scored);
    }
    if (row.left_out_error) {
      (is_large ? left_out_large : left_out_small).push_back({*row.left_out_error, false});
    }
  }
  summary.all = summarise(all);
  summary.large = summarise(large);
  summary.small = summarise(small);
  summary.left_out_large = summarise(left_out_large);
  summary.left_out_small = summarise(left_out_small);
  for (const auto& [name, scored] : classes) {
    summary.classes[name] = *summarise(scored);
  }
  return summary;
}

}  // namespace

CollectiveValidation validate_collectives(const std::vector<ClassifiedCollective>& points, const CurveTable& table,
                                          bool leave_one_out, const std::vector<CollectiveAnchor>& anchors) {
  CollectiveValidation validation;
  validation.rows.reserve(points.size());
  for (const ClassifiedCollective& point : points) {
    validation.rows.push_back(validate_row(point, table, anchors));
  }
  if (leave_one_out) {
    leave_out(points, validation.rows);
  }
  validation.summary = summarise_rows(validation.rows);
  return validation;
}

}  // namespace trainyard::simulator
