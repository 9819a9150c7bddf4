#include "gui/views/fitting_panes.h"

#include <QSplitter>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>

namespace trainyard::gui {

FittingPanes::FittingPanes(QWidget* parent)
    : QWidget(parent), splitter_(new QSplitter(Qt::Vertical)), tabs_(new QTabBar) {
  splitter_->setChildrenCollapsible(false);
  tabs_->setDrawBase(false);
  tabs_->setDocumentMode(true);
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(tr("Pictures"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(tabs_, 0, Qt::AlignLeft);
  column->addWidget(splitter_, 1);
  connect(tabs_, &QTabBar::currentChanged, this, &FittingPanes::set_current);
}

int FittingPanes::add_pane(QWidget* pane, const QString& title, const QString& tip, const QSize& comfortable) {
  panes_.push_back({pane, comfortable, true});
  splitter_->addWidget(pane);
  splitter_->setStretchFactor(splitter_->count() - 1, 1);
  const int index = tabs_->addTab(title);
  tabs_->setTabToolTip(index, tip);
  fit();
  return index;
}

void FittingPanes::set_pane_shown(int pane, bool shown) {
  Pane& one = panes_.at(static_cast<std::size_t>(pane));
  if (one.shown != shown) {
    one.shown = shown;
    tabs_->setTabVisible(pane, shown);
    fit();
  }
}

void FittingPanes::set_current(int pane) {
  if (pane >= 0 && pane != current_ && pane < static_cast<int>(panes_.size())) {
    current_ = pane;
    tabs_->setCurrentIndex(pane);
    fit();
  }
}

QSize FittingPanes::minimumSizeHint() const {
  QSize size;
  for (const Pane& pane : panes_) {
    size = size.expandedTo(pane.widget->minimumSizeHint().expandedTo(pane.widget->minimumSize()));
  }
  return size;
}

void FittingPanes::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit();
}

void FittingPanes::fit() {
  if (panes_.empty()) {
    return;
  }
  int shown = 0;
  QSize sum;
  QSize most;
  for (const Pane& pane : panes_) {
    if (pane.shown) {
      ++shown;
      sum += pane.comfortable;
      most = most.expandedTo(pane.comfortable);
    }
  }
  const bool above = height() >= sum.height() && width() >= most.width();
  const bool beside = width() >= sum.width() && height() >= most.height();
  tabbed_ = shown > 1 && !above && !beside;
  const Qt::Orientation orientation = above || !beside ? Qt::Vertical : Qt::Horizontal;
  const bool turned = splitter_->orientation() != orientation;
  if (turned) {
    splitter_->setOrientation(orientation);
  }
  const auto first = static_cast<int>(
      std::find_if(panes_.begin(), panes_.end(), [](const Pane& p) { return p.shown; }) - panes_.begin());
  const int on_top = panes_[static_cast<std::size_t>(current_)].shown ? current_ : first;
  for (std::size_t i = 0; i < panes_.size(); ++i) {
    panes_[i].widget->setVisible(panes_[i].shown && (!tabbed_ || static_cast<int>(i) == on_top));
  }
  tabs_->setVisible(tabbed_);
  if (!tabbed_ && (seen_ != shown || turned)) {  // not what was left of an arrangement with fewer
    QList<int> sizes;
    for (const Pane& pane : panes_) {
      sizes << (orientation == Qt::Vertical ? pane.comfortable.height() : pane.comfortable.width());
    }
    splitter_->setSizes(sizes);
  }
  seen_ = tabbed_ ? 1 : shown;
  Q_EMIT arranged();
}

}  // namespace trainyard::gui
