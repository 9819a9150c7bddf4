// The window's menus, keys, recent files and status line.
#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QStatusBar>
#include <QToolBar>

#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/provenance.h"
#include "gui/app/command_palette.h"
#include "gui/app/main_window.h"
#include "gui/app/message_bar.h"
#include "gui/app/start_page.h"
#include "gui/views/plans_dock.h"
#include "gui/views/runs_dock.h"

namespace trainyard::gui {

namespace {

constexpr int kMostRecent = 8;
constexpr int kDockKeys = 10;

QString study_filter() { return QObject::tr("Studies (*.study.json);;All files (*)"); }

}  // namespace

void MainWindow::make_menus() {
  make_file_menu();
  make_edit_menu();
  make_view_menu();
  make_help_menu();
  // The message goes between the menus and the docks: a toolbar that can't be moved.
  auto* holder = new QToolBar(tr("Message"), this);
  holder->setObjectName(QStringLiteral("message"));
  holder->setMovable(false);
  holder->setContextMenuPolicy(Qt::PreventContextMenu);
  holder->toggleViewAction()->setObjectName(QStringLiteral("_message"));
  QAction* shown = holder->addWidget(bar_);
  shown->setObjectName(QStringLiteral("_message-bar"));
  bar_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  addToolBar(holder);
  holder->hide();
  connect(bar_, &MessageBar::shown, holder, &QToolBar::setVisible);
}

void MainWindow::make_file_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&File"));
  menu->addAction(tr("&Start page"), this, [this] {
    if (may_replace()) {
      session_.document().undo_stack().setClean();
      session_.document().remove_autosave();
      show_recent();
      show_start();
    }
  });
  menu->addAction(tr("&Open…"), QKeySequence::Open, this, &MainWindow::ask_open);
  recent_ = menu->addMenu(tr("Open &recent"));
  menu->addAction(tr("&Save the study"), QKeySequence::Save, this, &MainWindow::save);
  menu->addAction(tr("Save the study &as…"), QKeySequence::SaveAs, this, &MainWindow::save_as);
  menu->addSeparator();
  QMenu* exports = menu->addMenu(tr("&Export this view"));
  exports->addAction(tr("Export the view as SVG…"), this, [this] { ask_export(ExportKind::kSvg); });
  exports->addAction(tr("Export the view as PNG…"), this, [this] { ask_export(ExportKind::kPng); });
  exports->addAction(tr("Export the view's table as CSV…"), this, [this] { ask_export(ExportKind::kCsv); });
  exports->addAction(tr("Export the timeline as Chrome trace…"), this,
                     [this] { ask_export(ExportKind::kChromeTrace); });
  menu->addAction(docks_.plans->save_plan_action());
  menu->addSeparator();
  menu->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void MainWindow::make_edit_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&Edit"));
  QUndoStack& undo = session_.document().undo_stack();
  QAction* back = undo.createUndoAction(this, tr("Undo"));
  back->setShortcuts(QKeySequence::Undo);
  QAction* again = undo.createRedoAction(this, tr("Redo"));
  again->setShortcuts({QKeySequence(Qt::CTRL | Qt::Key_Y), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z)});
  menu->addActions({back, again});
  menu->addSeparator();
  menu->addAction(docks_.plans->star_action());
  menu->addAction(docks_.plans->a_action());
  menu->addAction(docks_.plans->b_action());
  menu->addAction(tr("Take all filters off"), this, [this] { session_.results().clear_filters(); });
  menu->addSeparator();
  menu->addAction(tr("&Search"), QKeySequence(Qt::Key_F5), this, [this] { session_.search().start(); });
  menu->addAction(tr("Sto&p the search"), QKeySequence(Qt::Key_Escape), this, [this] { session_.search().cancel(); });
  QAction* automatic = menu->addAction(tr("Search after each edit"));
  automatic->setCheckable(true);
  automatic->setChecked(true);
  connect(automatic, &QAction::toggled, &session_.search(), &Search::set_automatic);
  menu->addSeparator();
  menu->addAction(docks_.plans->run_action());
  menu->addAction(tr("Open a run record…"), docks_.runs, &RunsDock::open_record);
}

void MainWindow::make_view_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&View"));
  docks_menu_ = menu;
  for (std::size_t i = 0; i < dock_widgets_.size(); ++i) {
    QDockWidget* dock = dock_widgets_[i];
    QAction* show =
        menu->addAction(tr("Show %1").arg(dock->windowTitle()), this, [this, dock] { go_to_dock(dock->objectName()); });
    if (i < kDockKeys) {
      show->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg((i + 1) % kDockKeys)));
    }
    dock->toggleViewAction()->setObjectName(QStringLiteral("_toggle"));
  }
  menu->addSeparator();
  menu->addAction(tr("Docks as they were at first"), this, &MainWindow::arrange);
  menu->addSeparator();
  auto* looks = new QActionGroup(this);
  const std::pair<Look, QString> choices[] = {
      {Look::kSystem, tr("As the system")}, {Look::kLight, tr("Light")}, {Look::kDark, tr("Dark")}};
  const Look now = kept_look();
  for (const auto& [look, text] : choices) {
    QAction* action = menu->addAction(text, this, [this, chosen = look] { set_look(chosen); });
    action->setCheckable(true);
    action->setChecked(look == now);
    looks->addAction(action);
  }
}

void MainWindow::make_help_menu() {
  QMenu* menu = menuBar()->addMenu(tr("&Help"));
  menu->addAction(tr("&Commands…"), QKeySequence(QStringLiteral("Ctrl+Shift+P")), this, [this] {
    CommandPalette palette(all_actions(*this), this);
    palette.exec();
  });
  menu->addAction(tr("&Keys…"), QKeySequence(QStringLiteral("?")), this,
                  [this] { show_keys(all_actions(*this), this); });
  menu->addAction(tr("&About Trainyard"), this, [this] {
    QMessageBox::about(this, tr("Trainyard"),
                       tr("Trainyard %1\nPlans, simulates and runs sharded training of large models.\nLicence: "
                          "Apache-2.0. Every number opens to its formula in Why; docs/cost_model.md has them all.")
                           .arg(QString::fromStdString(std::string(tool_version()))));
  });
}

void MainWindow::make_status() {
  status_ = new QLabel;
  status_->setMinimumWidth(1);
  progress_ = new QProgressBar;
  progress_->setMaximumWidth(160);
  progress_->setTextVisible(false);
  progress_->setAccessibleName(tr("Progress of the work in the background"));
  progress_->hide();
  statusBar()->addWidget(status_, 1);
  statusBar()->addPermanentWidget(progress_);
  connect(&session_.jobs(), &JobQueue::job_changed, this, &MainWindow::show_status);
  connect(&session_.jobs(), &JobQueue::busy_changed, this, &MainWindow::show_status);
}

void MainWindow::show_status() {
  const std::vector<JobInfo>& jobs = session_.jobs().jobs();
  // The search rather than what views ask for beside it: the newest that knows how far it is, else the newest of all.
  const auto runs = [](const JobInfo& job) { return job.state == JobState::kRunning; };
  const auto measured = std::find_if(jobs.rbegin(), jobs.rend(),
                                     [&](const JobInfo& job) { return runs(job) && job.fraction.has_value(); });
  const auto running = measured != jobs.rend() ? measured : std::find_if(jobs.rbegin(), jobs.rend(), runs);
  progress_->setVisible(running != jobs.rend());
  if (running == jobs.rend()) {
    status_->clear();
    return;
  }
  constexpr int kFull = 1000;
  progress_->setRange(0, running->fraction ? kFull : 0);
  progress_->setValue(static_cast<int>(running->fraction.value_or(0.0) * kFull));
  status_->setText(running->text.isEmpty() ? running->title : running->title + QStringLiteral(": ") + running->text);
}

void MainWindow::show_title() {
  const StudyDocument& document = session_.document();
  setWindowTitle(shows_start() ? tr("Trainyard")
                               : tr("%1[*] — Trainyard").arg(QString::fromStdString(document.study().name)));
  setWindowModified(!shows_start() && document.modified());
}

void MainWindow::remember_file(const QString& file) {
  QSettings settings;
  QStringList files = settings.value(QStringLiteral("recent")).toStringList();
  files.removeAll(file);
  files.prepend(file);
  settings.setValue(QStringLiteral("recent"), files.mid(0, kMostRecent));
  show_recent();
}

void MainWindow::show_recent() {
  QStringList files;
  for (const QString& file : QSettings().value(QStringLiteral("recent")).toStringList()) {
    if (QFileInfo::exists(file)) {
      files << file;
    }
  }
  recent_->clear();
  for (const QString& file : files) {
    recent_->addAction(file, this, [this, file] { open_file(file); })->setObjectName(QStringLiteral("_recent"));
  }
  recent_->setEnabled(!files.isEmpty());
  start_->show_recent(files);
  start_->show_left_behind(StudyDocument::left_behind(
      QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/autosave")));
}

void MainWindow::ask_open() {
  const QString file = QFileDialog::getOpenFileName(
      this, tr("Open a study, config.json, topology file, plan.json, run record, failure profile"));
  if (!file.isEmpty()) {
    open_file(file);
  }
}

bool MainWindow::save() {
  const QString& file = session_.document().file();
  if (file.isEmpty()) {
    return save_as();
  }
  if (!may_overwrite()) {
    return false;
  }
  try {
    session_.document().save_to(file);
    bar_->say(tr("Saved %1").arg(file));
    remember_file(file);
    return true;
  } catch (const Error& error) {
    bar_->warn(QString::fromUtf8(error.what()));
    return false;
  }
}

bool MainWindow::may_overwrite() {
  const StudyDocument& document = session_.document();
  if (!document.changed_on_disk()) {
    return true;
  }
  QMessageBox box(QMessageBox::Warning, tr("Trainyard"),
                  tr("%1 was changed by another program or window since it was opened here. Saving replaces those "
                     "changes; “Save the study as…” keeps both.")
                      .arg(document.file()),
                  QMessageBox::Cancel, this);
  const QPushButton* replace = box.addButton(tr("Replace them"), QMessageBox::DestructiveRole);
  box.exec();
  return box.clickedButton() == replace;
}

bool MainWindow::save_as() {
  QString file = QFileDialog::getSaveFileName(this, tr("Save the study"), {}, study_filter());
  if (file.isEmpty()) {
    return false;
  }
  if (!QFileInfo(file).fileName().contains(QLatin1Char('.'))) {
    file += QStringLiteral(".study.json");
  }
  try {
    // A study that was never named takes its file's.
    if (session_.document().study().name == Study().name) {
      session_.document().edit(Field::kName, tr("name the study"),
                               [&](Study& study) { study.name = QFileInfo(file).baseName().toStdString(); });
    }
    session_.document().save_to(file);
  } catch (const Error& error) {
    bar_->warn(QString::fromUtf8(error.what()));
    return false;
  }
  bar_->say(tr("Saved %1").arg(file));
  remember_file(QFileInfo(file).absoluteFilePath());
  return true;
}

void MainWindow::ask_export(ExportKind kind) {
  View* view = kind == ExportKind::kChromeTrace ? this->view(QStringLiteral("timeline")) : current_view();
  if (view == nullptr) {
    bar_->warn(tr("There is nothing to export"));
    return;
  }
  const QString ending = kind == ExportKind::kSvg   ? QStringLiteral("svg")
                         : kind == ExportKind::kPng ? QStringLiteral("png")
                         : kind == ExportKind::kCsv ? QStringLiteral("csv")
                                                    : QStringLiteral("json");
  const QString file =
      QFileDialog::getSaveFileName(this, tr("Export %1").arg(view->title()), view->name() + QLatin1Char('.') + ending);
  if (!file.isEmpty()) {
    export_view(*view, kind, file);
  }
}

void MainWindow::ask_save_plan() {
  const PlanRow* row = session_.results().plan(session_.selection().plan());
  const std::shared_ptr<const Problem>& problem = session_.analysis().problem();
  if (row == nullptr || !row->feasible() || !problem) {
    return;
  }
  const QString file = QFileDialog::getSaveFileName(this, tr("Save the plan"), QStringLiteral("plan.json"));
  if (file.isEmpty()) {
    return;
  }
  try {
    Plan plan = problem->plan_of(row->layout);
    plan.prediction = Prediction{row->step_time, row->tokens_per_second, row->memory};
    plan.provenance.version = tool_version();
    validate(plan, file.toStdString());
    write_plan(plan, file.toStdString());
    bar_->say(tr("Wrote %1: `trainyard run`, simulate and compare take it").arg(file));
  } catch (const Error& error) {
    bar_->warn(QString::fromUtf8(error.what()));
  }
}

}  // namespace trainyard::gui
