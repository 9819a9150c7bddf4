// Reliability: what failures leave of the selected plan, under the study's failure profile and policy.
#pragma once

#include "gui/models/value_table.h"
#include "gui/paint/bar_rows.h"
#include "gui/paint/line_chart.h"
#include "gui/session/reliability_studies.h"
#include "gui/views/refreshing_view.h"

class QLabel;
class QPushButton;

namespace trainyard::gui {

class FittingPanes;

class ReliabilityView : public RefreshingView {
  Q_OBJECT

 public:
  explicit ReliabilityView(Session& session, QWidget* parent = nullptr);

  QAbstractItemModel* table() override { return &table_; }
  const LineChart& intervals() const { return *intervals_; }
  const LineChart& scales() const { return *scales_; }
  const LineChart& month() const { return *month_; }
  const BarRows& spread() const { return *spread_; }
  const BarRows& waste() const { return *waste_; }
  // Where nothing is known of failures: sets the input that lacks.
  QPushButton& assume() { return *assume_; }
  QString summary() const;

 protected:
  void refresh() override;

 private:
  void say_nothing(const QString& why);
  void offer_assumption();
  void take_assumption();
  void show_study(const PlanRow& row, const simulator::ReliabilityStudy& study);

  QLabel* summary_;
  QPushButton* assume_;
  FittingPanes* panes_;
  LineChart* intervals_;
  LineChart* scales_;
  LineChart* month_;
  BarRows* spread_;
  BarRows* waste_;
  ValueTable table_;
};

}  // namespace trainyard::gui
