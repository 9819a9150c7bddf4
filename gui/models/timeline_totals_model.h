// TimelineTotalsModel: the timeline as a table: how long each row spends in each kind of work, within a span of the
// step.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "gui/paint/timeline_rows.h"

namespace trainyard::gui {

class TimelineTotalsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kRow, kRanks, kBusy, kShare, kFixedColumns };
  using QAbstractTableModel::QAbstractTableModel;

  // rows must outlive the model or its next set().
  void set(const TimelineRows* rows, Nanoseconds begin, Nanoseconds end, std::size_t first_row, std::size_t last_row);
  // Of all its rows, by kind.
  KindTimes sum() const;
  Nanoseconds span() const { return end_ - begin_; }
  const std::vector<InstructionKind>& kinds() const { return kinds_; }  // that occur

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  const TimelineRows* rows_ = nullptr;
  Nanoseconds begin_ = 0;
  Nanoseconds end_ = 0;
  std::vector<std::size_t> shown_;
  std::vector<KindTimes> totals_;  // by shown row
  std::vector<InstructionKind> kinds_;
};

}  // namespace trainyard::gui
