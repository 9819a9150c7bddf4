#include "gui/app/view_frame.h"

#include <QAbstractItemModel>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QScrollArea>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/views/view.h"

namespace trainyard::gui {

ViewFrame::ViewFrame(View* view, QWidget* parent) : QWidget(parent), view_(view) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  // A dock may be made smaller than its view wants to be: then it scrolls, and the window keeps its size.
  auto* scroll = new QScrollArea;
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setWidget(view);
  scroll->setFocusProxy(view);
  column->addWidget(scroll, 1);
  if (!view->has_picture() || view->table() == nullptr) {
    return;
  }
  table_ = new QTableView;
  table_->setModel(view->table());
  table_->setAccessibleName(tr("%1 as a table").arg(view->title()));
  table_->setWordWrap(false);
  connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) { view_->activate_row(index.row()); });
  table_->verticalHeader()->hide();
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->hide();
  column->addWidget(table_, 1);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(4, 0, 4, 2);
  button_ = new QToolButton;
  button_->setCheckable(true);
  button_->setText(tr("As a table"));
  button_->setToolTip(tr("The same numbers as a table"));
  line->addStretch(1);
  line->addWidget(button_);
  column->addLayout(line);
  connect(button_, &QToolButton::toggled, this, [this, scroll](bool on) {
    if (on) {
      table_->resizeColumnsToContents();
    }
    scroll->setVisible(!on);
    table_->setVisible(on);
  });
}

bool ViewFrame::shows_table() const { return button_ != nullptr && button_->isChecked(); }

void ViewFrame::show_table(bool shown) {
  if (button_ != nullptr) {
    button_->setChecked(shown);
  }
}

}  // namespace trainyard::gui
