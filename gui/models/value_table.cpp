#include "gui/models/value_table.h"

namespace trainyard::gui {

void ValueTable::set(QStringList headings, std::vector<TableRow> rows) {
  beginResetModel();
  headings_ = std::move(headings);
  rows_ = std::move(rows);
  endResetModel();
}

int ValueTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int ValueTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(headings_.size());
}

QVariant ValueTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
    return {};
  }
  const TableRow& row = rows_[static_cast<std::size_t>(index.row())];
  if (index.column() >= static_cast<int>(row.size())) {
    return {};
  }
  const TableCell& cell = row[static_cast<std::size_t>(index.column())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return cell.text;
    case Qt::UserRole:
      return cell.value ? QVariant(*cell.value) : QVariant(cell.text);
    case Qt::TextAlignmentRole:
      return QVariant(Qt::Alignment(Qt::AlignVCenter) | (cell.value ? Qt::AlignRight : Qt::AlignLeft));
    default:
      return {};
  }
}

QVariant ValueTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= headings_.size()) {
    return QAbstractTableModel::headerData(section, orientation, role);
  }
  return headings_[section];
}

}  // namespace trainyard::gui
