// Explore: all plans of the results at once: parallel coordinates over degrees and results, and two results against
// each other with the front of those that no other beats. Brushes are the results' filters, so that the Plans table is
// always the list of what is coloured here; a click selects a plan everywhere.
#pragma once

#include <QTimer>
#include <optional>
#include <set>
#include <vector>

#include "gui/models/value_table.h"
#include "gui/paint/parallel_axes.h"
#include "gui/paint/ramp_legend.h"
#include "gui/paint/scatter_chart.h"
#include "gui/session/plan_columns.h"
#include "gui/views/refreshing_view.h"

class QComboBox;
class QMenu;
class QToolButton;

namespace trainyard::gui {

class FittingPanes;

class ExploreView : public RefreshingView {
  Q_OBJECT

 public:
  explicit ExploreView(Session& session, QWidget* parent = nullptr);

  QAbstractItemModel* table() override;
  ParallelAxes& axes() { return *axes_; }
  ScatterChart& scatter() { return *scatter_; }

 protected:
  void refresh() override;

 private:
  void take_filters();
  void take_selection();
  void brush(PlanColumn column, double low, double high);
  void apply_brushes();
  void fill_menu(const std::vector<PlanColumn>& columns);
  void fill(QComboBox& choice, const std::vector<PlanColumn>& columns, PlanColumn usual);
  static PlanColumn chosen(const QComboBox& choice, PlanColumn usual);
  std::vector<char> passing() const;
  QWidget* make_controls();
  void connect_charts();
  void show_choices();
  void take_lasso(const QPolygonF& corners);
  QPolygonF lasso_here() const;
  std::optional<int> point_of(std::optional<int> plan) const;
  QString tip(int point) const;

  ParallelAxes* axes_;
  ScatterChart* scatter_;
  QComboBox* x_;
  QComboBox* y_;
  QComboBox* shade_;
  QToolButton* which_;
  RampLegend* ramp_;
  FittingPanes* panes_;
  QMenu* shown_;  // which columns have an axis
  std::set<PlanColumn> hidden_;
  ValueTable table_;
  std::vector<int> plans_;            // by point: place in the results
  std::vector<PlanColumn> columns_;   // by axis
  std::vector<RangeFilter> brushed_;  // waits for the timer: a drag moves quicker than all views draw
  QTimer delay_;
};

}  // namespace trainyard::gui
