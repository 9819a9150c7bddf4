#include "gui/app/screenshots.h"

#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QThread>
#include <functional>

#include "gui/app/main_window.h"
#include "gui/session/examples.h"

namespace trainyard::gui {

namespace {

constexpr int kMostMilliseconds = 120'000;
constexpr int kSettleMilliseconds = 300;
constexpr std::size_t kShownExample = 1;  // with a network: every view has something to show

void process_for(int milliseconds, const std::function<bool()>& enough = {}) {
  QElapsedTimer timer;
  timer.start();
  while (timer.elapsed() < milliseconds && !(enough && enough())) {
    QApplication::processEvents(QEventLoop::AllEvents, 20);
    QThread::msleep(2);
  }
}

void settle(MainWindow& window) {
  process_for(kSettleMilliseconds);
  process_for(kMostMilliseconds, [&] { return !window.session().jobs().busy(); });
  process_for(kSettleMilliseconds);
}

bool write(QWidget& widget, const QString& folder, const QString& name) {
  return widget.grab().save(QDir(folder).absoluteFilePath(name + QStringLiteral(".png")));
}

bool write_all(MainWindow& window, const QString& folder, const QString& theme) {
  bool all = true;
  for (QDockWidget* dock : window.docks()) {
    window.raise_dock(dock->objectName());
    settle(window);
    all = write(window, folder, QStringLiteral("window-%1-%2").arg(dock->objectName(), theme)) && all;
    dock->setFloating(true);
    dock->resize(window.size());
    settle(window);
    all = write(*dock->widget(), folder, QStringLiteral("%1-%2").arg(dock->objectName(), theme)) && all;
    dock->setFloating(false);
  }
  return all;
}

void open(MainWindow& window, const QStringList& files) {
  if (files.isEmpty()) {
    window.open_study(example_studies(QThread::idealThreadCount()).at(kShownExample).study);
  }
  for (const QString& file : files) {
    window.open_file(file);
  }
  settle(window);
  Session& session = window.session();
  process_for(kMostMilliseconds, [&] { return session.results().summary().finished || !session.search().running(); });
  if (session.results().plans().size() > 1) {
    session.selection().select_plan(0);
    session.selection().compare(0, 1);
  }
}

}  // namespace

void write_screenshots(MainWindow& window, const QString& folder, const QSize& size, const QStringList& files) {
  bool all = QDir().mkpath(folder);
  window.resize(size);
  window.show();
  for (const Look look : {Look::kLight, Look::kDark}) {
    window.set_look(look);
    const QString theme = look == Look::kLight ? QStringLiteral("light") : QStringLiteral("dark");
    if (look == Look::kLight) {
      settle(window);
      all = write(window, folder, QStringLiteral("window-start-light")) && all;
      open(window, files);
      window.resize(size);
    }
    settle(window);
    all = (window.shows_start() ? write(window, folder, QStringLiteral("window-message-") + theme)
                                : write_all(window, folder, theme)) &&
          all;
  }
  window.show_start();
  settle(window);
  all = write(window, folder, QStringLiteral("window-start-dark")) && all;
  QApplication::exit(all ? 0 : 1);
}

}  // namespace trainyard::gui
