// JobsModel: the jobs as a table: what, how far, how long. Newest first.
#pragma once

#include <QAbstractTableModel>

#include "gui/session/job_queue.h"

namespace trainyard::gui {

class JobsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column : std::uint8_t { kTitle, kProgress, kTime, kText };
  static constexpr int kColumns = kText + 1;
  static constexpr int kFractionRole = Qt::UserRole;  // 0 to 1; invalid: not known
  static constexpr int kStateRole = Qt::UserRole + 1;

  explicit JobsModel(JobQueue& jobs, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
  const JobInfo* job(int row) const;

 private:
  JobQueue& jobs_;
  std::size_t rows_ = 0;  // that the views know of
};

}  // namespace trainyard::gui
