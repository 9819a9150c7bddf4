// What tests of the desktop program share: waiting for work in the background, files in a folder of their own.
#pragma once

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QThread>
#include <string>

#include "core/document/write_file.h"

namespace trainyard::gui {

// Runs the window's events until it holds; false: it didn't within the time.
template <class Condition>
bool wait_for(const Condition& condition, int milliseconds = 60'000) {
  QElapsedTimer timer;
  timer.start();
  while (!condition()) {
    if (timer.elapsed() > milliseconds) {
      return false;
    }
    QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
    QThread::msleep(1);
  }
  return true;
}

class TestFolder {
 public:
  std::string write(const std::string& name, const std::string& text) const {
    const std::string file = path(name);
    write_file(file, text);
    return file;
  }
  std::string path(const std::string& name) const {
    return folder_.filePath(QString::fromStdString(name)).toStdString();
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace trainyard::gui
