// Why: where the wall clock of a plan goes, from the peak to what failures leave; against another plan; and why a plan
// lost to the best, or can't run and what would make it fit. A bar opens its equation, numbers and source.
#pragma once

#include <memory>
#include <optional>

#include "gui/models/value_table.h"
#include "gui/paint/bar_rows.h"
#include "gui/session/reliability_studies.h"
#include "gui/views/refreshing_view.h"
#include "gui/views/why_rows.h"
#include "simulator/planner/memory_advice.h"

class QLabel;
class QScrollArea;
class QTextBrowser;

namespace trainyard::gui {

class FittingPanes;

class WhyView : public RefreshingView {
  Q_OBJECT

 public:
  explicit WhyView(Session& session, QWidget* parent = nullptr);

  QAbstractItemModel* table() override { return &table_; }
  const BarRows& waterfall() const { return *waterfall_; }
  const BarRows& difference() const { return *difference_; }
  QString summary() const;
  QString explanation() const;
  void explain(int id);  // of a bar: the sum where it is no cause

 protected:
  void refresh() override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Shown {
    int plan = 0;
    NamedWaterfall named;
    std::shared_ptr<const simulator::ReliabilityStudy> reliability;
  };
  std::optional<Shown> shown_of(int plan, const QString& name);
  void show_infeasible(const PlanRow& row);
  void show_waterfalls();
  void say_nothing(const QString& why);
  void explain_rest(const QString& title, const std::vector<simulator::WaterfallCause>& gathered);

  QLabel* summary_;
  BarRows* waterfall_;
  BarRows* difference_;
  FittingPanes* panes_;
  int difference_pane_ = 0;
  QScrollArea* waterfall_area_;
  QScrollArea* difference_area_;
  QTextBrowser* explanation_;
  ValueTable table_;
  std::vector<Shown> shown_;
  std::vector<simulator::WaterfallCause> small_parts_;        // that share a row of the waterfall
  std::vector<simulator::WaterfallCause> small_differences_;  // ... of the differences
  int explained_ = -1;
  std::string advised_;  // layout that advice_ is of
  std::optional<std::optional<simulator::FittingChange>> advice_;
};

}  // namespace trainyard::gui
