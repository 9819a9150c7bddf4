// Predicted against measured, row by row, and what comes of it.
//
//   error = predicted / measured - 1, of busbw; summaries are of |error| over rows that are scored and not excluded
//   coverage = share of measurements inside the 80 % interval
// Leave-one-source-out: each row predicted by constants refitted without its source's rows (curve_fit.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulator/collective/collective_anchor.h"
#include "simulator/collective/collective_models.h"

namespace trainyard::simulator {

struct ValidationRow {
  std::string id;
  std::string reason;  // why it isn't scored; empty when it is
  BytesPerSecond predicted;
  BytesPerSecond measured;
  double error = 0.0;
  BytesPerSecond low;
  BytesPerSecond high;
  std::vector<std::string> flags;
  bool excluded = false;
  std::string curve_class;
  CurveEvidence evidence = CurveEvidence::kBorrowed;
  std::optional<double> left_out_error;
  std::optional<Bytes> size;
};

struct ErrorSummary {
  int rows = 0;
  double median = 0.0;  // of |error|
  double p90 = 0.0;
  double coverage = 0.0;  // 0 to 1; of leave-one-out summaries: not given
};

struct ValidationSummary {
  int rows = 0;
  int scored = 0;
  int excluded = 0;
  std::optional<ErrorSummary> large;  // from 1 MiB
  std::optional<ErrorSummary> small;
  std::optional<ErrorSummary> all;
  std::optional<ErrorSummary> left_out_large;
  std::optional<ErrorSummary> left_out_small;
  std::map<std::string, ErrorSummary> classes;
};

struct CollectiveValidation {
  std::vector<ValidationRow> rows;
  ValidationSummary summary;
};

// With leave_one_out the fit is repeated for each source of `points`. Rows of an anchor's system use the anchor.
CollectiveValidation validate_collectives(const std::vector<ClassifiedCollective>& points, const CurveTable& table,
                                          bool leave_one_out, const std::vector<CollectiveAnchor>& anchors = {});

}  // namespace trainyard::simulator
