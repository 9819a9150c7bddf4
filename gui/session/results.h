// Results: what the search has found, best so far while it runs, and the filters behind every view of it.
//
// A filter keeps the plans whose column lies in a range; all filters hold at once. Rows that can't run pass a filter
// of a result they don't have only when no such filter is set.
#pragma once

#include <QObject>
#include <QPolygonF>
#include <QString>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units/count.h"
#include "gui/session/plan_columns.h"
#include "gui/session/plan_row.h"

namespace trainyard::gui {

struct RangeFilter {
  PlanColumn column = PlanColumn::kStepTime;
  double low = 0.0;  // in the column's values, both ends in
  double high = 0.0;
  friend bool operator==(const RangeFilter&, const RangeFilter&) = default;
};

// The plans inside a shape drawn over two results.
struct LassoFilter {
  struct Side {
    PlanColumn column = PlanColumn::kStepTime;
    bool logarithmic = false;  // the axis that it was drawn on: corners are joined straight there
    double along(double value) const;
    double value(double along) const;
    friend bool operator==(const Side&, const Side&) = default;
  };
  Side x;
  Side y;
  QPolygonF corners;  // along x and y: values, or their logarithms
  // By the even-odd rule; false where the plan has no such result.
  bool encloses(double x_value, double y_value) const;
  friend bool operator==(const LassoFilter&, const LassoFilter&) = default;
};

struct SearchSummary {
  std::int64_t considered = 0;
  std::int64_t feasible = 0;
  std::int64_t infeasible = 0;
  ByteCount available;  // memory of a rank
  bool finished = false;
  bool stopped = false;
};

class Results : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  // Feasible ones first, fastest first; then those that can't run.
  const std::vector<PlanRow>& plans() const { return plans_; }
  const PlanRow* plan(std::optional<int> index) const;  // null where there is none
  std::optional<int> find(const std::string& text) const;
  const SearchSummary& summary() const { return summary_; }
  void replace(std::vector<PlanRow> plans, const SearchSummary& summary);
  void clear();

  const std::vector<RangeFilter>& filters() const { return filters_; }
  void set_filter(const RangeFilter& filter);  // in place of the column's
  void remove_filter(PlanColumn column);
  const std::optional<LassoFilter>& lasso() const { return lasso_; }
  void set_lasso(std::optional<LassoFilter> lasso);
  void clear_filters();  // the lasso too
  bool filtered() const { return lasso_ || !filters_.empty(); }
  bool passes(int index) const;
  bool infeasible_shown() const { return infeasible_shown_; }
  void show_infeasible(bool shown);

 Q_SIGNALS:
  void plans_about_to_change();
  void plans_changed();
  void filter_changed();

 private:
  std::vector<PlanRow> plans_;
  SearchSummary summary_;
  std::vector<RangeFilter> filters_;
  std::optional<LassoFilter> lasso_;
  bool infeasible_shown_ = false;
};

// "tp 4 to 8", "step time 1.2 s to 1.5 s"
QString text_of(const RangeFilter& filter);
// "lasso over Step time and Memory/rank"
QString text_of(const LassoFilter& lasso);

}  // namespace trainyard::gui
