// PlansModel: Results as a table: a row a plan, a column a PlanColumn, with the star, A and B in front.
//
// Kept in step with Results and with the stars of the study. Sorting and filtering are PlansFilter's.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <set>
#include <string>

#include "gui/session/session.h"

namespace trainyard::gui {

class PlansModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kSortRole = Qt::UserRole;      // the column's value
  static constexpr int kBestRole = Qt::UserRole + 1;  // of a layout: that of the best plan
  static constexpr int kStarColumn = 0;               // PlanColumn c is column c + 1

  explicit PlansModel(Session& session, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

  static std::optional<PlanColumn> column_of(int section);

 private:
  QVariant star(int place, const PlanRow& row, int role) const;
  QString compared(int place) const;
  void marks_changed();
  QVariant tip(const PlanRow& row, PlanColumn column) const;
  void take_stars();

  Session& session_;
  Results& results_;
  std::set<std::string> starred_;
};

// The plans that pass Results' filters; infeasible ones stay behind the others however the table is sorted.
class PlansFilter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit PlansFilter(Results& results, QObject* parent = nullptr);
  void only_starred(bool only);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  Results& results_;
  bool only_starred_ = false;
};

}  // namespace trainyard::gui
