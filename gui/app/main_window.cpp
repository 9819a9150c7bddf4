#include "gui/app/main_window.h"

#include <QDockWidget>

namespace trainyard::gui {

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent) { setWindowTitle(tr("Trainyard")); }

void MainWindow::add_dock(View* view, Qt::DockWidgetArea area) {
  auto* dock = new QDockWidget(view->title(), this);
  dock->setObjectName(view->name());
  dock->setWidget(view);
  addDockWidget(area, dock);
  views_.push_back(view);
}

}  // namespace trainyard::gui
