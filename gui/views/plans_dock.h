// Plans: the ranked table of layouts, filtered by the same filters as every view; stars, and the two to compare.
#pragma once

#include "gui/models/plans_model.h"
#include "gui/session/session.h"
#include "gui/views/view.h"

class QAction;
class QLabel;
class QProgressBar;
class QPushButton;
class QTableView;

namespace trainyard::gui {

class PlansDock : public View {
  Q_OBJECT

 public:
  explicit PlansDock(Session& session, QWidget* parent = nullptr);

  bool has_picture() const override { return false; }
  QAbstractItemModel* table() override { return filter_; }
  QTableView* view() const { return view_; }

  // Of the selected plan; for menus and keys.
  QAction* star_action() const { return star_; }
  QAction* a_action() const { return a_; }
  QAction* b_action() const { return b_; }
  QAction* run_action() const { return run_; }
  QAction* save_plan_action() const { return save_plan_; }

 Q_SIGNALS:
  void run_asked();
  void save_plan_asked();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void make_actions();
  QWidget* make_header();
  void make_table();
  void show_summary();
  void show_selection();
  void give_layout_the_rest();
  void take_current(const QModelIndex& current);
  void clicked(const QModelIndex& index);
  void menu_at(const QPoint& place);
  void filter_by(const QModelIndex& index);

  Session& session_;
  PlansModel* model_;
  PlansFilter* filter_;
  QTableView* view_ = nullptr;
  QLabel* summary_ = nullptr;
  QLabel* empty_ = nullptr;
  QPushButton* search_ = nullptr;
  QAction* star_ = nullptr;
  QAction* a_ = nullptr;
  QAction* b_ = nullptr;
  QAction* run_ = nullptr;
  QAction* save_plan_ = nullptr;
  bool showing_ = false;  // the selection in the table; not the other way round
};

}  // namespace trainyard::gui
