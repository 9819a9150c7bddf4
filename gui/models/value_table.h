// ValueTable: rows of text and numbers, as the twin of a picture: what a screen reader reads and CSV export writes.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

namespace trainyard::gui {

struct TableCell {
  QString text;                 // with unit
  std::optional<double> value;  // what numbers sort by; then shown at the right
};
using TableRow = std::vector<TableCell>;

class ValueTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  // One cell a heading; fewer leave the rest empty.
  void set(QStringList headings, std::vector<TableRow> rows);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;  // Qt::UserRole: the number, or the text
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QStringList headings_;
  std::vector<TableRow> rows_;
};

}  // namespace trainyard::gui
