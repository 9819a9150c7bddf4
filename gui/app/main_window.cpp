#include "gui/app/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QSettings>
#include <QStandardPaths>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "core/document/write_file.h"
#include "core/error.h"
#include "gui/app/message_bar.h"
#include "gui/app/start_page.h"
#include "gui/app/system_look.h"
#include "gui/app/view_frame.h"
#include "gui/session/import_file.h"
#include "gui/views/plans_dock.h"
#include "gui/views/runs_dock.h"

namespace trainyard::gui {

namespace {

constexpr int kInputsWidth = 330;
constexpr QSize kFirstSize(1280, 800);

QString autosave_folder() {
  return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/autosave");
}

}  // namespace

MainWindow::MainWindow(SystemLook& system, QWidget* parent)
    : QMainWindow(parent), system_(system), docks_(make_docks(session_)) {
  setAcceptDrops(true);
  setDockNestingEnabled(true);
  setDocumentMode(true);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  auto* central = new QWidget;
  auto* column = new QVBoxLayout(central);
  column->setContentsMargins(0, 0, 0, 0);
  start_ = new StartPage;
  column->addWidget(start_);
  setCentralWidget(central);
  bar_ = new MessageBar;
  place_docks();
  make_menus();
  make_status();
  connect(start_, &StartPage::example_chosen, this, &MainWindow::open_study);
  connect(start_, &StartPage::file_chosen, this, &MainWindow::open_file);
  connect(start_, &StartPage::open_asked, this, &MainWindow::ask_open);
  connect(start_, &StartPage::forget_chosen, this, [this] {
    for (const QString& file : StudyDocument::left_behind(autosave_folder())) {
      QFile::remove(file);
    }
    show_recent();
  });
  connect(start_, &StartPage::restore_chosen, this, &MainWindow::restore_study);
  connect(docks_.plans, &PlansDock::run_asked, this, [this] {
    raise_dock(docks_.runs->name());
    docks_.runs->start_selected();
  });
  connect(docks_.plans, &PlansDock::save_plan_asked, this, &MainWindow::ask_save_plan);
  connect(docks_.runs, &RunsDock::failed, bar_, &MessageBar::warn);
  connect(&session_.search(), &Search::failed, this, [this](const Failure& failure) { bar_->warn(failure.text()); });
  connect(&session_.document().undo_stack(), &QUndoStack::cleanChanged, this, &MainWindow::show_title);
  connect(&session_.document(), &StudyDocument::study_changed, this, &MainWindow::show_title);
  connect(&session_.document(), &StudyDocument::file_changed, this, &MainWindow::show_title);
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
    for (ViewFrame* frame : frames_) {
      if (now != nullptr && frame->isAncestorOf(now)) {
        last_view_ = frame->view();
      }
    }
  });
  connect(&session_.document(), &StudyDocument::autosave_failed, this, [this](const QString& why) {
    bar_->warn(tr("Changes aren't autosaved, so a crash would lose them; save the study by hand.\n%1").arg(why));
  });
  connect(&system_, &SystemLook::changed, this, [this] {
    if (kept_look() == Look::kSystem) {
      apply(Look::kSystem, system_);
    }
  });
  session_.document().set_autosave_folder(autosave_folder());
  constexpr QSize kFrame(20, 60);  // of the window manager's
  const QScreen* here = screen();
  resize(here == nullptr ? kFirstSize : kFirstSize.boundedTo(here->availableSize() - kFrame));
  restore_geometry();
  restore_docks();
  show_recent();
  show_docks(false);
}

MainWindow::~MainWindow() {
  session_.document().remove_autosave();
  // Views look at the session until they end, and it is a member: they go first.
  disconnect(qApp, nullptr, this, nullptr);
  session_.disconnect();
  for (QDockWidget* dock : dock_widgets_) {
    delete dock;
  }
}

void MainWindow::place_docks() {
  for (const PlacedView& placed : docks_.views) {
    auto* frame = new ViewFrame(placed.view);
    if (placed.place == DockPlace::kLeft) {  // a form, whose fields would be cut
      frame->setMinimumWidth(placed.view->minimumSizeHint().width());
    }
    auto* dock = new QDockWidget(placed.view->title(), this);
    dock->setObjectName(placed.view->name());
    dock->setWidget(frame);
    // Arrows go from cell to cell, Tab leaves the table: otherwise nothing behind it is reached by key.
    for (QAbstractItemView* table : frame->findChildren<QAbstractItemView*>()) {
      table->setTabKeyNavigation(false);
    }
    frames_.push_back(frame);
    dock_widgets_.push_back(dock);
  }
  arrange();
}

void MainWindow::arrange() {
  QDockWidget* first[3] = {nullptr, nullptr, nullptr};
  for (std::size_t i = 0; i < docks_.views.size(); ++i) {
    const auto place = static_cast<std::size_t>(docks_.views[i].place);
    QDockWidget* dock = dock_widgets_[i];
    removeDockWidget(dock);
    if (first[place] != nullptr) {
      tabifyDockWidget(first[place], dock);
    } else {
      first[place] = dock;
      addDockWidget(docks_.views[i].place == DockPlace::kLeft ? Qt::LeftDockWidgetArea : Qt::RightDockWidgetArea, dock,
                    Qt::Vertical);
    }
    dock->show();
  }
  for (QDockWidget* dock : first) {
    dock->raise();
  }
  size_docks();
  // Docks that have just come are laid out by the next event only.
  QTimer::singleShot(0, this, &MainWindow::size_docks);
}

void MainWindow::size_docks() {
  QDockWidget* first[3] = {nullptr, nullptr, nullptr};
  for (std::size_t i = docks_.views.size(); i-- > 0;) {
    first[static_cast<std::size_t>(docks_.views[i].place)] = dock_widgets_[i];
  }
  // Of both areas: with nothing between them they'd share the width evenly.
  resizeDocks({first[0], first[1]}, {kInputsWidth, width() - kInputsWidth}, Qt::Horizontal);
  constexpr double kTopShare = 0.4;
  const int top = static_cast<int>(kTopShare * height());
  resizeDocks({first[1], first[2]}, {top, height() - top}, Qt::Vertical);
}

View* MainWindow::view(const QString& name) const {
  for (const PlacedView& placed : docks_.views) {
    if (placed.view->name() == name) {
      return placed.view;
    }
  }
  return nullptr;
}

QDockWidget* MainWindow::dock(const QString& name) const {
  for (QDockWidget* dock : dock_widgets_) {
    if (dock->objectName() == name) {
      return dock;
    }
  }
  return nullptr;
}

void MainWindow::raise_dock(const QString& name) {
  if (QDockWidget* found = dock(name)) {
    found->show();
    found->raise();
    last_view_ = view(name);
  }
}

void MainWindow::go_to_dock(const QString& name) {
  raise_dock(name);
  View* shown = view(name);
  if (shown == nullptr) {
    return;
  }
  if (QWidget* most = shown->focusProxy(); most != nullptr && most->isVisibleTo(shown)) {
    most->setFocus(Qt::ShortcutFocusReason);
    return;
  }
  const auto takes_keys = [shown](const QWidget* child) {
    return (child->focusPolicy() & Qt::TabFocus) != 0 && child->isEnabled() && child->isVisibleTo(shown);
  };
  // The table, else what Tab would come to first.
  QList<QWidget*> children;
  for (QTableView* table : shown->findChildren<QTableView*>()) {
    children << table;
  }
  children << shown->findChildren<QWidget*>();
  const auto found = std::find_if(children.begin(), children.end(), takes_keys);
  if (found != children.end()) {
    (*found)->setFocus(Qt::ShortcutFocusReason);
  }
}

View* MainWindow::current_view() const {
  return last_view_ != nullptr && last_view_->isVisible() ? last_view_ : static_cast<View*>(docks_.plans);
}

void MainWindow::show_docks(bool shown) {
  centralWidget()->setVisible(!shown);
  for (QDockWidget* dock : dock_widgets_) {
    dock->setVisible(shown);
  }
  docks_menu_->setEnabled(shown);
  show_title();
}

void MainWindow::show_start() {
  remember_docks();
  bar_->clear();  // of the study before
  show_docks(false);
}

bool MainWindow::shows_start() const { return !centralWidget()->isHidden(); }

QString MainWindow::message() const { return bar_->text(); }

bool MainWindow::open_study(const Study& study) {
  if (!may_replace() || !may_drop_runs()) {
    return false;
  }
  if (shows_start()) {
    show_docks(true);
    restore_docks();
  }
  bar_->clear();
  session_.document().replace(study, {});
  return true;
}

// Nothing has saved it yet: it stays as changed as it was, under this process's own autosave, or where that fails under
// the one of the process that crashed.
void MainWindow::restore_study(const QString& autosave) {
  try {
    if (open_study(read_study(autosave.toStdString()))) {
      const bool kept = session_.document().mark_unsaved();
      open_runs();
      if (kept) {
        QFile::remove(autosave);
      }
      show_recent();
    }
  } catch (const Error& error) {
    bar_->warn(QString::fromUtf8(error.what()));
  }
}

void MainWindow::open_file(const QString& file) {
  try {
    const FileKind kind = kind_of_file(file.toStdString());
    const bool study = kind == FileKind::kStudy;
    if (study) {
      // Before a person is asked to leave the study at hand. It is read again when it is opened: what is saved now may
      // be the same file.
      static_cast<void>(read_study(file.toStdString()));
      if (!may_replace() || !may_drop_runs()) {
        return;
      }
    }
    const bool begins = shows_start();
    if (begins && !study) {
      session_.document().replace(Study(), {});
    }
    const QString done = import_file(file, session_);
    if (begins) {
      show_docks(true);
      restore_docks();
    }
    bar_->say(done);
    if (kind == FileKind::kRun) {
      raise_dock(docks_.runs->name());
    }
    if (study) {
      remember_file(QFileInfo(file).absoluteFilePath());
      open_runs();
    }
  } catch (const Error& error) {
    bar_->warn(QString::fromUtf8(error.what()));
  } catch (const std::exception& failure) {  // a library's: memory, the file system
    bar_->warn(QString::fromUtf8(failure.what()));
  }
}

// The study's, as far as they are there and can be read.
void MainWindow::open_runs() {
  for (const std::string& run : session_.document().study().runs) {
    std::error_code ignored;
    if (!std::filesystem::exists(run, ignored)) {
      continue;
    }
    try {
      session_.runs().open(QString::fromStdString(run));
    } catch (const Error& error) {
      bar_->warn(QString::fromUtf8(error.what()));
    }
  }
}

// Left at work, a run is found by its folder, which the study names: where that isn't saved, a person needs to know.
bool MainWindow::may_drop_runs() {
  RunList& runs = session_.runs();
  if (!runs.any_running()) {
    return true;
  }
  const StudyDocument& document = session_.document();
  const bool kept = !document.file().isEmpty() && !document.modified();
  QMessageBox box(QMessageBox::Question, tr("Trainyard"), tr("A run is at work."), QMessageBox::Cancel, this);
  QString said = tr("End it, and its folder keeps what it has so far. Or leave it at work: ");
  said += kept ? tr("the study follows it again when it is next opened.")
               : tr("the study isn't saved with it, so open its folder to follow it again:");
  if (!kept) {
    for (const Run& run : runs.runs()) {
      if (run.state == RunState::kStarting || run.state == RunState::kRunning) {
        said += QLatin1Char('\n') + run.folder;
      }
    }
  }
  box.setInformativeText(said);
  const QPushButton* end = box.addButton(tr("End the run"), QMessageBox::DestructiveRole);
  const QPushButton* leave = box.addButton(tr("Leave it at work"), QMessageBox::AcceptRole);
  box.exec();
  if (box.clickedButton() == leave) {
    runs.leave();
  }
  return box.clickedButton() == leave || box.clickedButton() == end;
}

bool MainWindow::may_replace() {
  if (shows_start() || !session_.document().modified()) {
    return true;
  }
  QMessageBox box(QMessageBox::Question, tr("Trainyard"),
                  tr("Save the changes of “%1”?").arg(QString::fromStdString(session_.document().study().name)),
                  QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
  const int answer = box.exec();
  return answer == QMessageBox::Discard || (answer == QMessageBox::Save && save());
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) {
    event->acceptProposedAction();
  }
}

void MainWindow::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) {
      open_file(url.toLocalFile());
    } else {
      bar_->warn(tr("%1 is not on this machine; save it first").arg(url.toString()));
    }
  }
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_replace() || !may_drop_runs()) {
    event->ignore();
    return;
  }
  QSettings().setValue(QStringLiteral("window/geometry"), saveGeometry());
  remember_docks();
  session_.document().remove_autosave();
  session_.jobs().cancel_all();
  event->accept();
}

void MainWindow::restore_geometry() {
  restoreGeometry(QSettings().value(QStringLiteral("window/geometry")).toByteArray());
}

// They are hidden on the start page: what they are like there is nothing to keep.
void MainWindow::remember_docks() {
  if (!shows_start()) {
    QSettings().setValue(QStringLiteral("window/state"), saveState());
  }
}

void MainWindow::restore_docks() {
  if (!restoreState(QSettings().value(QStringLiteral("window/state")).toByteArray())) {
    arrange();
  }
  Q_EMIT bar_->shown(!bar_->text().isEmpty());  // not as it was when the state was saved
}

bool MainWindow::event(QEvent* event) {
  if (event->type() == QEvent::ThemeChange) {
    system_.theme_changed();
  }
  if (event->type() == QEvent::PaletteChange && bar_ != nullptr && !bar_->text().isEmpty()) {
    bar_->update();
  }
  return QMainWindow::event(event);
}

void MainWindow::set_look(Look look) {
  keep_look(look);
  apply(look, system_);
}

void MainWindow::export_view(View& view, ExportKind kind, const QString& file) {
  try {
    switch (kind) {
      case ExportKind::kSvg:
        view.export_svg(file);
        break;
      case ExportKind::kPng:
        view.export_png(file);
        break;
      case ExportKind::kCsv:
        if (view.table() == nullptr) {
          throw Error("has no table", view.title().toStdString(), "another view");
        }
        export_csv(*view.table(), file);
        break;
      case ExportKind::kChromeTrace:
        view.export_chrome_trace(file);
        break;
    }
    bar_->say(tr("Wrote %1").arg(file));
  } catch (const Error& error) {
    bar_->warn(QString::fromUtf8(error.what()));
  }
}

}  // namespace trainyard::gui
