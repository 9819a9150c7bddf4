// trainyard-gui: the desktop program.
#include <QApplication>

#include "gui/app/main_window.h"

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  trainyard::gui::MainWindow window;
  window.show();
  return QApplication::exec();
}
