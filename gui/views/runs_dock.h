// Runs: a plan really run on this machine, followed live: loss and step time, measured beside predicted; records of
// runs elsewhere beside them.
#pragma once

#include "gui/models/runs_model.h"
#include "gui/session/session.h"
#include "gui/views/view.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace trainyard::gui {

class LineChart;

class RunsDock : public View {
  Q_OBJECT

 public:
  explicit RunsDock(Session& session, QWidget* parent = nullptr);

  QAbstractItemModel* table() override { return model_; }
  void start_selected();  // the selected plan
  void open_record();     // asks for one
  QString summary_text() const;

 Q_SIGNALS:
  void failed(const QString& text);

 private:
  QWidget* make_controls();
  int current() const;
  void show_run();
  void show_controls();
  void plot(const Run& run);
  std::string text_to_train_on() const;

  Session& session_;
  RunsModel* model_;
  QTableView* view_ = nullptr;
  LineChart* loss_ = nullptr;
  LineChart* time_ = nullptr;
  QLabel* summary_ = nullptr;
  QPushButton* start_ = nullptr;
  QPushButton* stop_ = nullptr;
  QPushButton* close_ = nullptr;
  QLineEdit* steps_ = nullptr;
  QLineEdit* data_ = nullptr;
};

}  // namespace trainyard::gui
