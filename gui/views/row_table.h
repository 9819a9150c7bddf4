// A table that people pick rows from, as the docks have it: one row at a time, no grid, no numbers before the rows.
#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace trainyard::gui {

// The caller lays it out, and so owns it.
QTableView* make_row_table(QAbstractItemModel* model, const QString& accessible_name);

}  // namespace trainyard::gui
