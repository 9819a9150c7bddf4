// Jobs: work in the background: what, how far, how long, and Cancel.
#pragma once

#include "gui/models/jobs_model.h"
#include "gui/session/session.h"
#include "gui/views/view.h"

class QPushButton;
class QTableView;

namespace trainyard::gui {

class JobsDock : public View {
  Q_OBJECT

 public:
  explicit JobsDock(Session& session, QWidget* parent = nullptr);

  bool has_picture() const override { return false; }
  QAbstractItemModel* table() override { return model_; }

 private:
  void show_buttons();

  Session& session_;
  JobsModel* model_;
  QTableView* view_;
  QPushButton* cancel_;
};

}  // namespace trainyard::gui
