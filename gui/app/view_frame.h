// ViewFrame: a view with its table twin behind a button, as a dock shows it.
#pragma once

#include <QWidget>

class QTableView;
class QToolButton;

namespace trainyard::gui {

class View;

class ViewFrame : public QWidget {
  Q_OBJECT

 public:
  explicit ViewFrame(View* view, QWidget* parent = nullptr);

  View* view() const { return view_; }
  bool shows_table() const;
  void show_table(bool shown);

 private:
  View* view_;
  QTableView* table_ = nullptr;
  QToolButton* button_ = nullptr;
};

}  // namespace trainyard::gui
