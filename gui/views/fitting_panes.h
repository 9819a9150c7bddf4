// FittingPanes: pictures that belong together, all of them where they fit: above each other, or beside each other in a
// wide dock; else one at a time behind tabs, so that each is whole without scrolling.
#pragma once

#include <QWidget>
#include <vector>

class QSplitter;
class QTabBar;

namespace trainyard::gui {

class FittingPanes : public QWidget {
  Q_OBJECT

 public:
  explicit FittingPanes(QWidget* parent = nullptr);

  // comfortable: below this size the pane isn't shown beside others. Returns its index.
  int add_pane(QWidget* pane, const QString& title, const QString& tip, const QSize& comfortable);
  // A pane that has nothing to say leaves its room and its tab to the others.
  void set_pane_shown(int pane, bool shown);
  // The pane on top where there is room for one.
  int current() const { return current_; }
  void set_current(int pane);
  // Between panes and the views that own it: tabs to be put where there is room for them, such as a line of choices.
  QTabBar* tabs() const { return tabs_; }
  bool tabbed() const { return tabbed_; }

  // No more than that is asked for: a scroll area makes a view as high as its parts would like to be.
  QSize sizeHint() const override { return minimumSizeHint(); }
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void arranged();  // other panes are seen

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Pane {
    QWidget* widget = nullptr;
    QSize comfortable;
    bool shown = true;
  };
  void fit();

  QSplitter* splitter_;
  QTabBar* tabs_;
  std::vector<Pane> panes_;
  int current_ = 0;
  int seen_ = 0;  // panes
  bool tabbed_ = false;
};

}  // namespace trainyard::gui
