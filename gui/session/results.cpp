#include "gui/session/results.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard::gui {

double LassoFilter::Side::along(double value) const { return logarithmic ? std::log(value) : value; }

double LassoFilter::Side::value(double along) const { return logarithmic ? std::exp(along) : along; }

bool LassoFilter::encloses(double x_value, double y_value) const {
  const QPointF place(x.along(x_value), y.along(y_value));
  return std::isfinite(place.x()) && std::isfinite(place.y()) && corners.containsPoint(place, Qt::OddEvenFill);
}

const PlanRow* Results::plan(std::optional<int> index) const {
  return index && *index >= 0 && static_cast<std::size_t>(*index) < plans_.size()
             ? &plans_[static_cast<std::size_t>(*index)]
             : nullptr;
}

std::optional<int> Results::find(const std::string& text) const {
  const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const PlanRow& row) { return row.text == text; });
  return found == plans_.end() ? std::nullopt : std::optional(static_cast<int>(found - plans_.begin()));
}

void Results::replace(std::vector<PlanRow> plans, const SearchSummary& summary) {
  Q_EMIT plans_about_to_change();
  plans_ = std::move(plans);
  summary_ = summary;
  Q_EMIT plans_changed();
}

void Results::clear() { replace({}, {}); }

void Results::set_filter(const RangeFilter& filter) {
  const auto found = std::find_if(filters_.begin(), filters_.end(),
                                  [&](const RangeFilter& other) { return other.column == filter.column; });
  if (found == filters_.end()) {
    filters_.push_back(filter);
  } else if (*found == filter) {
    return;
  } else {
    *found = filter;
  }
  Q_EMIT filter_changed();
}

void Results::remove_filter(PlanColumn column) {
  if (std::erase_if(filters_, [&](const RangeFilter& filter) { return filter.column == column; }) > 0) {
    Q_EMIT filter_changed();
  }
}

void Results::set_lasso(std::optional<LassoFilter> lasso) {
  if (lasso_ != lasso) {
    lasso_ = std::move(lasso);
    Q_EMIT filter_changed();
  }
}

void Results::clear_filters() {
  if (filtered()) {
    filters_.clear();
    lasso_.reset();
    Q_EMIT filter_changed();
  }
}

bool Results::passes(int index) const {
  const PlanRow* row = plan(index);
  if (row == nullptr || (!row->feasible() && !infeasible_shown_)) {
    return false;
  }
  if (lasso_ && !lasso_->encloses(value_of(*row, lasso_->x.column), value_of(*row, lasso_->y.column))) {
    return false;
  }
  return std::all_of(filters_.begin(), filters_.end(), [&](const RangeFilter& filter) {
    const double value = value_of(*row, filter.column);
    return value >= filter.low && value <= filter.high;  // false for NaN
  });
}

void Results::show_infeasible(bool shown) {
  if (std::exchange(infeasible_shown_, shown) != shown) {
    Q_EMIT filter_changed();
  }
}

QString text_of(const RangeFilter& filter) {
  const QString low = value_text(filter.column, filter.low);
  const QString high = value_text(filter.column, filter.high);
  return low == high ? QObject::tr("%1 %2").arg(title_of(filter.column), low)
                     : QObject::tr("%1 %2 to %3").arg(title_of(filter.column), low, high);
}

QString text_of(const LassoFilter& lasso) {
  return QObject::tr("lasso over %1 and %2").arg(title_of(lasso.x.column), title_of(lasso.y.column));
}

}  // namespace trainyard::gui
