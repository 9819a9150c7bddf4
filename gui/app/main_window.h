// MainWindow: one study, its docks, menus and keys.
#pragma once

#include <QMainWindow>
#include <vector>

#include "gui/app/docks.h"
#include "gui/app/look.h"
#include "gui/session/session.h"
#include "gui/views/view.h"

class QDockWidget;
class QLabel;
class QMenu;
class QProgressBar;

namespace trainyard::gui {

class MessageBar;
class StartPage;
class SystemLook;
class ViewFrame;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // system: longer than the window.
  explicit MainWindow(SystemLook& system, QWidget* parent = nullptr);
  ~MainWindow() override;

  Session& session() { return session_; }
  const std::vector<QDockWidget*>& docks() const { return dock_widgets_; }
  View* view(const QString& name) const;
  QDockWidget* dock(const QString& name) const;

  // What went wrong is shown in the window, never thrown.
  void open_file(const QString& file);
  bool open_study(const Study& study);  // an example, or what a crash left; false: a person didn't want to
  void show_start();
  bool shows_start() const;
  QString message() const;  // what the bar below the menus says; empty: nothing
  void set_look(Look look);
  void raise_dock(const QString& name);
  void go_to_dock(const QString& name);  // and puts the keys there
  bool save();                           // false: cancelled, or it failed

  // Of the view at hand. Throw nothing: a failure is shown.
  enum class ExportKind : std::uint8_t { kSvg, kPng, kCsv, kChromeTrace };
  void export_view(View& view, ExportKind kind, const QString& file);
  View* current_view() const;

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void place_docks();
  void arrange();  // as they come
  void size_docks();
  void make_menus();
  void make_file_menu();
  void make_edit_menu();
  void make_view_menu();
  void make_help_menu();
  void make_status();
  void restore_geometry();
  void restore_docks();
  void remember_docks();
  void restore_study(const QString& autosave);
  void open_runs();
  void remember_file(const QString& file);
  void show_recent();
  void ask_open();
  bool save_as();
  bool may_replace();    // asks where there are changes
  bool may_drop_runs();  // asks where one is at work: ends it, or leaves it
  bool may_overwrite();  // asks where somebody else has written the study's file
  void ask_export(ExportKind kind);
  void ask_save_plan();
  void show_title();
  void show_status();
  void show_docks(bool shown);

  Session session_;
  SystemLook& system_;
  Docks docks_;
  std::vector<ViewFrame*> frames_;
  std::vector<QDockWidget*> dock_widgets_;
  StartPage* start_ = nullptr;
  MessageBar* bar_ = nullptr;
  QMenu* recent_ = nullptr;
  QMenu* docks_menu_ = nullptr;
  QLabel* status_ = nullptr;
  QProgressBar* progress_ = nullptr;
  View* last_view_ = nullptr;
};

}  // namespace trainyard::gui
