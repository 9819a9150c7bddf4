// TimelineView: the selected plan's step over time, as predicted and, where it has run here, as measured below.
//
// What is selected in it goes to the session: a slice's time and ranks, an area's time and rows. Ranks and spans that
// other views select are marked here.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QStackedLayout>
#include <memory>

#include "gui/models/timeline_totals_model.h"
#include "gui/session/session.h"
#include "gui/views/kind_legend.h"
#include "gui/views/timeline_widget.h"
#include "gui/views/view.h"

namespace trainyard::gui {

class TimelineView : public View {
  Q_OBJECT

 public:
  explicit TimelineView(Session& session, QWidget* parent = nullptr);

  TimelineWidget& timeline() { return *timeline_; }
  QAbstractItemModel* table() override { return &totals_; }
  void export_svg(const QString& file) override;
  void export_png(const QString& file) override;
  bool has_chrome_trace() const override { return !timeline_->rows().source().empty(); }
  void export_chrome_trace(const QString& file) override;
  QString message() const { return empty_->text(); }  // shown while there is nothing to draw

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* make_tools();
  void refresh();  // from the session
  void show_message(const QString& text);
  void show_source(TimelineSource source);
  void say(const QString& text);  // below the picture
  QString beside_formula() const;
  void update_totals();
  void write_selection();
  void read_selection();
  void update_found();

  Session& session_;
  TimelineTotalsModel totals_;
  TimelineWidget* timeline_;
  QStackedLayout* stack_;
  QLabel* empty_;
  QLineEdit* search_;
  QLabel* found_;
  QLabel* summary_;
  KindLegend* legend_;
  std::shared_ptr<const PlanSimulation> shown_;
  std::shared_ptr<const Trace> shown_trace_;
  bool writing_ = false;  // a change of the selection is our own
};

}  // namespace trainyard::gui
