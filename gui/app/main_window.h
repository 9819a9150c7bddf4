// MainWindow: one study, its docks, menus and keys.
#pragma once

#include <QMainWindow>
#include <vector>

#include "gui/session/session.h"
#include "gui/views/view.h"

namespace trainyard::gui {

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  Session& session() { return session_; }

 private:
  void add_dock(View* view, Qt::DockWidgetArea area);

  Session session_;
  std::vector<View*> views_;
};

}  // namespace trainyard::gui
