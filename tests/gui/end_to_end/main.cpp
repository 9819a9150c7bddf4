// The whole way with a real mouse: open an example, let it measure this machine and search, pick a plan, run a few
// steps of it, see measured beside predicted. Clicks go through the X server (xdotool), as a person's do.
#include <QApplication>
#include <QCommandLinkButton>
#include <QDockWidget>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <cstdio>
#include <cstdlib>

#include "gui/app/look.h"
#include "gui/app/main_window.h"
#include "gui/app/system_look.h"
#include "gui/session/examples.h"
#include "gui/views/plans_dock.h"
#include "gui/views/runs_dock.h"
#include "tests/gui/support.h"

namespace trainyard::gui {
namespace {

constexpr int kLongMilliseconds = 150'000;  // to measure or to train on a busy machine

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "FAILED: %s\n", what);
    std::exit(1);
  }
  std::printf("ok: %s\n", what);
  std::fflush(stdout);
}

void xdotool(const QStringList& arguments) {
  require(QProcess::execute(QStringLiteral("xdotool"), arguments) == 0, "xdotool answers");
  wait_for([] { return false; }, 150);
}

void click(const QWidget& widget, const QPoint& place) {
  wait_for([] { return false; }, 150);  // where it is now, after the last layout
  const QPoint global = widget.mapToGlobal(place);
  xdotool({QStringLiteral("mousemove"), QString::number(global.x()), QString::number(global.y()),
           QStringLiteral("click"), QStringLiteral("1")});
}

void click(const QWidget& widget) { click(widget, widget.rect().center()); }

template <class W>
W& find(const QWidget& window, const QString& name) {
  W* found = window.findChild<W*>(name);
  require(found != nullptr, qPrintable(QStringLiteral("there is a widget “%1”").arg(name)));
  return *found;
}

void click_tab(const QWidget& window, const QString& title) {
  for (const QTabBar* bar : window.findChildren<QTabBar*>()) {
    for (int i = 0; i < bar->count(); ++i) {
      if (bar->tabText(i) == title && bar->isVisible()) {
        click(*bar, bar->tabRect(i).center());
        return;
      }
    }
  }
  require(false, qPrintable(QStringLiteral("there is a tab “%1”").arg(title)));
}

void walk(MainWindow& window) {
  Session& session = window.session();
  const QString title = example_studies(2).front().title;
  for (const QCommandLinkButton* button : window.findChildren<QCommandLinkButton*>()) {
    if (button->text() == title) {
      click(*button);
      break;
    }
  }
  require(wait_for([&] { return !window.shows_start() && session.search().unmeasured(); }),
          "a click opens the example");

  click(find<QPushButton>(window, QStringLiteral("search")));
  require(
      wait_for([&] { return session.results().summary().finished && !session.search().running(); }, kLongMilliseconds),
      "a click measures this machine and searches");
  require(session.results().plans().size() > 1, "there are plans");

  const QTableView& table = *static_cast<PlansDock*>(window.view(QStringLiteral("plans")))->view();
  const std::string second = table.model()->index(1, 1).data().toString().toStdString();
  click(*table.viewport(), table.visualRect(table.model()->index(1, 1)).center());
  require(wait_for([&] {
            const std::optional<int> plan = session.selection().plan();
            return plan && session.results().plan(plan)->text == second;
          }),
          "a click picks the plan of the second row");

  click_tab(window, QStringLiteral("Runs"));
  auto& runs = *static_cast<RunsDock*>(window.view(QStringLiteral("runs")));
  require(wait_for([&] { return runs.isVisible(); }), "a click shows Runs");
  const QLineEdit& steps = *[&] {
    for (QLineEdit* edit : runs.findChildren<QLineEdit*>()) {
      if (edit->accessibleName() == QStringLiteral("Steps to run")) {
        return edit;
      }
    }
    return static_cast<QLineEdit*>(nullptr);
  }();
  click(steps);
  xdotool({QStringLiteral("key"), QStringLiteral("ctrl+a")});
  xdotool({QStringLiteral("type"), QStringLiteral("4")});
  require(wait_for([&] { return session.document().study().run_steps == 4; }), "typing sets the steps");

  click(find<QPushButton>(window, QStringLiteral("run")));
  require(wait_for([&] { return !session.runs().runs().empty(); }), "a click starts a run");
  require(wait_for([&] { return session.runs().runs().front().state >= RunState::kDone; }, kLongMilliseconds),
          "the run ends");
  const Run& run = session.runs().runs().front();
  require(run.state == RunState::kDone, qPrintable(QStringLiteral("it trained: ") + run.message));
  require(run.record.steps.size() == 4 && run.trace != nullptr, "four steps and a measured trace");
  std::printf("%s\n", qPrintable(runs.summary_text()));
  require(runs.summary_text().contains(QStringLiteral("predicted")) &&
              runs.summary_text().contains(QStringLiteral("measured")),
          "measured stands beside predicted");
  session.document().undo_stack().setClean();
}

}  // namespace
}  // namespace trainyard::gui

int main(int argc, char** argv) {
  using namespace trainyard::gui;
  QCoreApplication::setOrganizationName(QStringLiteral("trainyard"));
  QCoreApplication::setApplicationName(QStringLiteral("trainyard"));
  const QApplication app(argc, argv);
  use_own_style();
  SystemLook system(QDBusConnection(QStringLiteral("none")));
  apply(Look::kLight, system);
  MainWindow window(system);
  window.setGeometry(0, 0, 1280, 800);
  window.show();
  walk(window);
  if (argc > 1) {
    window.grab().save(QString::fromLocal8Bit(argv[1]));
  }
  return 0;
}
