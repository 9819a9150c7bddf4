// RunsModel: the runs as a table, measured beside predicted.
#pragma once

#include <QAbstractTableModel>

#include "gui/session/run_list.h"

namespace trainyard::gui {

class RunsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column : std::uint8_t { kLayout, kState, kSteps, kLoss, kPredicted, kMeasured, kRatio, kFolder };
  static constexpr int kColumns = kFolder + 1;

  explicit RunsModel(RunList& runs, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  RunList& runs_;
  std::size_t rows_ = 0;
};

}  // namespace trainyard::gui
