#include "gui/views/row_table.h"

#include <QHeaderView>
#include <QTableView>

namespace trainyard::gui {

QTableView* make_row_table(QAbstractItemModel* model, const QString& accessible_name) {
  auto* view = new QTableView;
  view->setModel(model);
  view->setAccessibleName(accessible_name);
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setSelectionMode(QAbstractItemView::SingleSelection);
  view->verticalHeader()->hide();
  view->horizontalHeader()->setHighlightSections(false);
  view->setShowGrid(false);
  view->setWordWrap(false);
  return view;
}

}  // namespace trainyard::gui
