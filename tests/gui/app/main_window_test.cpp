// The window as a person has it: examples, drops, messages, exports, palette, docks over one selection.
#include "gui/app/main_window.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <QAccessible>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileInfo>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QSvgRenderer>
#include <QTableView>
#include <QTest>
#include <QTimer>
#include <algorithm>
#include <csignal>

#include "core/document/read_file.h"
#include "gui/app/command_palette.h"
#include "gui/app/message_bar.h"
#include "gui/app/start_page.h"
#include "gui/app/system_look.h"
#include "gui/app/view_frame.h"
#include "gui/bench/opening.h"
#include "gui/paint/chart.h"
#include "gui/paint/theme.h"
#include "gui/session/examples.h"
#include "gui/views/inputs_dock.h"
#include "gui/views/plans_dock.h"
#include "tests/gui/session/short_run.h"
#include "tests/gui/support.h"

namespace trainyard::gui {
namespace {

class Window : public testing::Test {
 protected:
  Window() {
    window_.resize(1280, 800);
    window_.show();
  }
  ~Window() override { window_.session().document().undo_stack().setClean(); }

  void open_small() {
    Study study = example_studies(2).at(1).study;
    study.ranks = 64;
    study.model = "llama-3-8b";
    study.machine = "dgx-h100-superpod";
    study.global_batch = 128;
    study.failures.clear();
    window_.open_study(study);
    ASSERT_TRUE(wait_for(
        [&] { return window_.session().results().summary().finished && !window_.session().search().running(); }));
  }

  void drop(const std::string& file) {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(QString::fromStdString(file))});
    QDragEnterEvent enter({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent dropped({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &dropped);
  }

  PlansDock& plans() { return *static_cast<PlansDock*>(window_.view("plans")); }

  TestFolder folder_;
  SystemLook system_{QDBusConnection(QStringLiteral("none"))};
  MainWindow window_{system_};
};

// With slack for a busy machine: `gui_bench` holds it to the real target.
TEST_F(Window, EachExampleOpensInUnderASecond) {
  constexpr double kSlack = 3.0;
  EXPECT_TRUE(window_.shows_start());
  const std::vector<Opening> openings = open_examples(window_);
  ASSERT_EQ(openings.size(), 3U);
  for (const Opening& opening : openings) {
    EXPECT_LT(opening.picture_ms, kSlack * kOpeningMs) << opening.what;
  }
  EXPECT_FALSE(openings[0].first_plans_ms);  // of a machine that nobody has measured
  EXPECT_TRUE(openings[1].first_plans_ms && openings[2].first_plans_ms);
  EXPECT_FALSE(window_.shows_start());
  EXPECT_TRUE(window_.windowTitle().contains(QString::fromStdString(example_studies(2).back().study.name)));
}

// Not that a cluster is missing: that the machine is to be measured. And it has no network to draw.
TEST_F(Window, EveryViewSaysThatThisMachineIsToBeMeasured) {
  window_.open_study(example_studies(2).front().study);
  ASSERT_TRUE(wait_for([&] { return window_.session().search().unmeasured(); }));
  const auto says = [&](const char* dock, const QString& words) {
    window_.raise_dock(dock);
    return wait_for(
        [&] {
          const QList<QLabel*> labels = window_.view(dock)->findChildren<QLabel*>();
          const QList<Chart*> charts = window_.view(dock)->findChildren<Chart*>();
          return std::ranges::any_of(
                     labels,
                     [&](const QLabel* label) { return label->isVisible() && label->text().contains(words); }) ||
                 std::ranges::any_of(charts, [&](const Chart* chart) {
                   return chart->isVisible() && chart->empty_text().contains(words);
                 });
        },
        5'000);
  };
  for (const char* dock : {"plans", "why", "memory", "timeline", "reliability"}) {
    EXPECT_TRUE(says(dock, QStringLiteral("This machine isn't measured yet"))) << dock;
  }
  EXPECT_TRUE(says("topology", QStringLiteral("This machine has no network to show")));
}

// Docks that come into sight have no size of their own yet.
TEST_F(Window, TheFormIsAsWideAsItsFieldsNeedAtFirst) {
  QSettings().remove("window/state");
  window_.open_study(example_studies(2).at(1).study);
  EXPECT_TRUE(wait_for([&] { return window_.dock("inputs")->width() < window_.width() / 3; }, 5'000))
      << window_.dock("inputs")->width();
  EXPECT_GT(window_.dock("inputs")->width(), 200);
}

TEST_F(Window, DocksStayAsTheyAreThroughTheStartPage) {
  window_.open_study(example_studies(2).at(1).study);
  window_.dock("jobs")->close();
  window_.show_start();
  EXPECT_TRUE(window_.shows_start());
  window_.open_study(example_studies(2).at(2).study);
  EXPECT_TRUE(window_.dock("jobs")->isHidden());
  EXPECT_FALSE(window_.dock("runs")->isHidden());
  QSettings().remove("window/state");
}

TEST_F(Window, AStudyOpenedFromTheStartPageGivesTheWindowItsName) {
  Study study = example_studies(2).at(1).study;
  study.name = "mine";
  write_study(study, folder_.path("mine.study.json"));
  drop(folder_.path("mine.study.json"));
  EXPECT_FALSE(window_.shows_start());
  EXPECT_TRUE(window_.windowTitle().startsWith("mine")) << window_.windowTitle().toStdString();
}

TEST_F(Window, ADroppedConfigBecomesTheModel) {
  const std::string file = std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/gpt2.json";
  drop(file);
  EXPECT_EQ(window_.session().document().study().model, file);
  EXPECT_FALSE(window_.shows_start());
  EXPECT_TRUE(window_.message().contains("gpt2.json"));
}

TEST_F(Window, ABadFileIsShownAndNothingElseHappens) {
  drop(folder_.write("bad.json", "{\"document\": \"plan\"}"));
  EXPECT_TRUE(window_.message().contains("bad.json")) << window_.message().toStdString();
  EXPECT_TRUE(window_.shows_start());
  drop(folder_.path("not-there"));
  EXPECT_TRUE(window_.message().contains("not-there"));
}

// The text lies within the bar and the bar within its toolbar, at any width: at first, after a long message, after a
// change of size.
TEST_F(Window, AMessageIsSeenWhole) {
  const auto* bar = window_.findChild<MessageBar*>();
  ASSERT_NE(bar, nullptr);
  const auto whole = [&] {
    for (const QLabel* label : bar->findChildren<QLabel*>()) {
      if (label->height() < label->heightForWidth(label->width()) || !bar->rect().contains(label->geometry())) {
        return false;
      }
    }
    return bar->isVisible() && bar->parentWidget()->rect().contains(bar->geometry());
  };
  const std::string folder = std::string(60, 'a') + "/" + std::string(60, 'b') + "/" + std::string(60, 'c');
  for (const std::string& file : {folder_.write("bad.json", "{\"document\": \"plan\"}"), folder_.path(folder)}) {
    for (const int width : {1280, 700, 2000}) {
      window_.resize(width, 800);
      drop(file);
      EXPECT_TRUE(wait_for(whole, 2'000))
          << width << " pixels, " << file << ": a bar of " << bar->width() << " by " << bar->height() << " at "
          << bar->y() << " in a toolbar of " << bar->parentWidget()->height();
    }
  }
}

TEST_F(Window, TheTableAndTheOthersShareOneSelection) {
  open_small();
  Selection& selection = window_.session().selection();
  QTableView& table = *plans().view();
  table.selectRow(4);
  EXPECT_EQ(selection.plan(), 4);
  selection.select_plan(2);
  EXPECT_EQ(table.currentIndex().row(), 2);
  plans().a_action()->trigger();
  selection.select_plan(3);
  plans().b_action()->trigger();
  EXPECT_EQ(selection.plan_a(), 2);
  EXPECT_EQ(selection.plan_b(), 3);
  EXPECT_TRUE(table.model()->index(2, 0).data().toString().endsWith("A"));
  plans().star_action()->trigger();
  EXPECT_TRUE(window_.session().is_starred(3));
  window_.session().document().undo_stack().undo();
  EXPECT_FALSE(window_.session().is_starred(3));
}

TEST_F(Window, AFieldSaysWhatIsWrongBelowItself) {
  open_small();
  auto& inputs = *static_cast<InputsDock*>(window_.view("inputs"));
  auto& ranks = *static_cast<QLineEdit*>(inputs.editor(Field::kRanks));
  const std::int64_t before = window_.session().document().study().ranks;
  ranks.selectAll();
  QTest::keyClicks(&ranks, "many");
  EXPECT_FALSE(inputs.error_text(Field::kRanks).isEmpty());
  EXPECT_EQ(window_.session().document().study().ranks, before);
  ranks.selectAll();
  QTest::keyClicks(&ranks, "32");
  EXPECT_TRUE(inputs.error_text(Field::kRanks).isEmpty());
  EXPECT_EQ(window_.session().document().study().ranks, 32);
  window_.session().document().undo_stack().undo();
  EXPECT_EQ(ranks.text(), QString::number(before));
  static_cast<QComboBox*>(inputs.editor(Field::kModel))->setEditText("lama-3-8b");
  EXPECT_TRUE(wait_for([&] { return inputs.error_text(Field::kModel).contains("llama-3-8b"); }));
}

TEST_F(Window, ExportsReadBackAsWhatIsShown) {
  open_small();
  const QString csv = QString::fromStdString(folder_.path("plans.csv"));
  window_.export_view(plans(), MainWindow::ExportKind::kCsv, csv);
  const QString text = QString::fromStdString(read_text_file(csv.toStdString()));
  const QStringList lines = text.split("\r\n", Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), plans().table()->rowCount() + 1);
  EXPECT_TRUE(lines[0].startsWith("★,Layout,Step time"));
  EXPECT_TRUE(lines[1].contains(plans().table()->index(0, 1).data().toString()));
  View& runs = *window_.view("runs");
  const QString svg = QString::fromStdString(folder_.path("runs.svg"));
  window_.export_view(runs, MainWindow::ExportKind::kSvg, svg);
  EXPECT_TRUE(QSvgRenderer(svg).isValid());
  const QString png = QString::fromStdString(folder_.path("runs.png"));
  window_.export_view(runs, MainWindow::ExportKind::kPng, png);
  EXPECT_EQ(QImage(png).size(), 2 * runs.size());
  window_.export_view(runs, MainWindow::ExportKind::kPng, "/nowhere/at/all.png");
  EXPECT_TRUE(window_.message().contains("/nowhere/at/all.png"));
}

// A full disk, played by a limit on the size of files: a file that would be cut off isn't written at all.
TEST_F(Window, AFullDiskIsSaidAndLeavesNoPartOfAFile) {
  open_small();
  const auto too_full = [&](MainWindow::ExportKind kind, const std::string& name) {
    const std::string file = folder_.path(name);
    struct rlimit before = {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = before;
    small.rlim_cur = 256;
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    window_.export_view(*window_.view("runs"), kind, QString::fromStdString(file));
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(window_.message().contains("can't be written")) << name << ": " << window_.message().toStdString();
    EXPECT_FALSE(QFileInfo::exists(QString::fromStdString(file))) << name;
  };
  too_full(MainWindow::ExportKind::kSvg, "runs.svg");
  too_full(MainWindow::ExportKind::kPng, "runs.png");
}

// A crash's copy is the last one until this process has its own: a folder in the place of its file keeps it from that.
TEST_F(Window, WhatACrashLeftStaysUntilItIsAutosavedAnew) {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/autosave";
  const QString left = folder + "/autosave-99999999.study.json";
  const QString own = QStringLiteral("%1/autosave-%2.study.json").arg(folder).arg(QCoreApplication::applicationPid());
  auto* page = window_.findChild<StartPage*>();
  ASSERT_NE(page, nullptr);
  for (const bool full : {true, false}) {
    ASSERT_TRUE(QDir().mkpath(folder));
    Study study = example_studies(2).at(1).study;
    write_study(study, left.toStdString());
    window_.session().document().undo_stack().setClean();
    window_.session().document().remove_autosave();
    ASSERT_TRUE(!full || QDir().mkpath(own + "/in-the-way"));
    Q_EMIT page->restore_chosen(left);
    EXPECT_EQ(window_.session().document().study(), study);
    EXPECT_EQ(QFileInfo::exists(left), full);
    QDir(own).removeRecursively();
    window_.session().document().undo_stack().clear();
    window_.session().document().undo_stack().setClean();
    window_.show_start();
  }
  EXPECT_FALSE(QFileInfo::exists(left));
}

// Presses a button of the question that the next event asks.
void answer(const QString& button, QString* asked) {
  QTimer::singleShot(0, qApp, [button, asked] {
    auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
    ASSERT_NE(box, nullptr);
    *asked = box->text() + QLatin1Char('\n') + box->informativeText();
    for (QAbstractButton* one : box->buttons()) {
      if (one->text() == button) {
        one->click();
        return;
      }
    }
    box->reject();
    FAIL() << "no button " << button.toStdString();
  });
}

// A run needn't end with its window: that is asked, and a study that is opened later follows what was left.
TEST_F(Window, ClosedWhileARunIsAtWorkAsksWhatBecomesOfIt) {
  const RunList::Start start = tiny_run(folder_, "run", kManySteps);
  Study study = example_studies(2).at(1).study;
  study.runs = {start.folder.toStdString()};
  const std::string file = folder_.path("mine.study.json");
  write_study(study, file);
  window_.open_file(QString::fromStdString(file));
  RunList& runs = window_.session().runs();
  runs.start(start);
  ASSERT_TRUE(wait_for_step(runs, 1));
  QString asked;
  answer(QStringLiteral("Cancel"), &asked);
  EXPECT_FALSE(window_.close());
  EXPECT_TRUE(runs.any_running());
  EXPECT_TRUE(asked.contains(QStringLiteral("the study follows it again"))) << asked.toStdString();
  answer(QStringLiteral("Leave it at work"), &asked);
  EXPECT_TRUE(window_.close());
  {
    MainWindow later(system_);
    later.open_file(QString::fromStdString(file));
    ASSERT_EQ(later.session().runs().runs().size(), 1U);
    EXPECT_TRUE(later.session().runs().any_running());
    answer(QStringLiteral("End the run"), &asked);
    EXPECT_TRUE(later.close());
  }
  EXPECT_FALSE(RunProcess::find(start.folder));
}

// Nothing else would lead to it.
TEST_F(Window, LeavingARunOfAnUnsavedStudyNamesItsFolder) {
  window_.open_study(example_studies(2).at(1).study);
  const RunList::Start start = tiny_run(folder_, "run", kManySteps);
  window_.session().runs().start(start);
  QString asked;
  answer(QStringLiteral("End the run"), &asked);
  EXPECT_TRUE(window_.close());
  EXPECT_TRUE(asked.contains(start.folder)) << asked.toStdString();
}

// Nothing would come of leaving the study at hand, so that nobody is asked whether to.
TEST_F(Window, AStudyThatCannotBeReadIsSaidBeforeAnybodyIsAskedToLeaveTheirs) {
  window_.open_study(example_studies(2).at(1).study);
  StudyDocument& document = window_.session().document();
  document.edit(Field::kName, QStringLiteral("rename"), [](Study& study) { study.name = "mine"; });
  ASSERT_TRUE(document.modified());
  bool asked = false;
  QTimer::singleShot(0, qApp, [&] {  // in the loop of a question, if there is one
    if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
      asked = true;
      box->reject();
    }
  });
  const std::string bad = folder_.write("bad.study.json", R"({"document": "study", "schema": 1})");
  window_.open_file(QString::fromStdString(bad));
  QApplication::processEvents();
  EXPECT_FALSE(asked);
  EXPECT_EQ(document.study().name, "mine");
  EXPECT_TRUE(window_.message().contains(QStringLiteral("\"model\" is missing"))) << window_.message().toStdString();
}

TEST_F(Window, GoingToADockByKeyPutsTheKeysThere) {
  open_small();
  window_.activateWindow();
  for (const char* name : {"timeline", "topology", "plans", "runs", "jobs", "inputs", "why"}) {
    window_.go_to_dock(name);
    QApplication::processEvents();
    const QWidget* focus = QApplication::focusWidget();
    ASSERT_NE(focus, nullptr) << name;
    EXPECT_TRUE(window_.view(name)->isAncestorOf(focus)) << name;
    EXPECT_EQ(window_.current_view(), window_.view(name));
  }
}

TEST_F(Window, TabLeavesEveryTable) {
  for (QDockWidget* dock : window_.docks()) {
    for (const QTableView* table : dock->findChildren<QTableView*>()) {
      EXPECT_FALSE(table->tabKeyNavigation()) << dock->objectName().toStdString();
    }
  }
}

TEST_F(Window, WhateverTabReachesHasANameToReadAloud) {
  open_small();
  for (QDockWidget* dock : window_.docks()) {
    window_.raise_dock(dock->objectName());
    QApplication::processEvents();
    for (QWidget* widget : dock->findChildren<QWidget*>()) {
      const bool part_of_a_box = qobject_cast<QComboBox*>(widget->parentWidget()) != nullptr;
      if ((widget->focusPolicy() & Qt::TabFocus) == 0 || !widget->isVisible() || widget->focusProxy() != nullptr ||
          part_of_a_box || widget->inherits("QScrollArea")) {
        continue;
      }
      const QAccessibleInterface* read = QAccessible::queryAccessibleInterface(widget);
      ASSERT_NE(read, nullptr);
      EXPECT_FALSE(read->text(QAccessible::Name).isEmpty())
          << dock->objectName().toStdString() << ": " << widget->metaObject()->className() << " of "
          << widget->parentWidget()->metaObject()->className();
    }
  }
}

TEST_F(Window, EveryViewHasANameAndPaintedOnesATableTwin) {
  open_small();
  for (QDockWidget* dock : window_.docks()) {
    View& view = *window_.view(dock->objectName());
    EXPECT_FALSE(view.accessibleName().isEmpty()) << view.name().toStdString();
    if (view.has_picture()) {
      EXPECT_NE(view.table(), nullptr) << view.name().toStdString();
      auto& frame = *static_cast<ViewFrame*>(dock->widget());
      frame.show_table(true);
      EXPECT_TRUE(frame.shows_table()) << view.name().toStdString();
      frame.show_table(false);
    }
  }
}

TEST_F(Window, ThePaletteFindsEveryActionByItsLetters) {
  const std::vector<QAction*> actions = all_actions(window_);
  EXPECT_GT(actions.size(), 20U);
  for (const QAction* action : actions) {
    EXPECT_TRUE(letters_in_order(action->text().remove('&').left(6), action->text().remove('&')));
  }
  EXPECT_TRUE(letters_in_order("exsv", "Export the view as SVG"));
  EXPECT_FALSE(letters_in_order("xe", "Ex"));
}

TEST_F(Window, TheLookChangesWhileItIsOpen) {
  window_.set_look(Look::kDark);
  QApplication::processEvents();  // Qt tells widgets of a palette in an event
  EXPECT_TRUE(current(window_.palette()).dark);
  window_.set_look(Look::kLight);
  QApplication::processEvents();
  EXPECT_FALSE(current(window_.palette()).dark);
}

TEST_F(Window, TextHasAFont) {
  // Without one every letter is the same hollow box.
  const QFontMetrics metrics(QApplication::font());
  EXPECT_GT(metrics.horizontalAdvance("mmmm"), metrics.horizontalAdvance("iiii"));
}

}  // namespace
}  // namespace trainyard::gui
