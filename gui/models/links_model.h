// LinksModel: a cluster's links as a table, the busiest first; bundles of hundreds of thousands are cut off.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <optional>
#include <vector>

#include "core/cluster/cluster.h"
#include "gui/session/link_traffic.h"

namespace trainyard::gui {

class LinksModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kFrom, kTo, kKind, kBandwidth, kBusy, kForward, kReverse, kColumns };
  static constexpr std::size_t kMost = 2000;
  using QAbstractTableModel::QAbstractTableModel;

  // traffic: may be null; then in the cluster's order.
  void set(std::shared_ptr<const Cluster> cluster, std::shared_ptr<const LinkTraffic> traffic);
  LinkId link(int row) const { return shown_[static_cast<std::size_t>(row)]; }
  std::optional<int> row_of(LinkId link) const;
  std::size_t left_out() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  std::shared_ptr<const Cluster> cluster_;
  std::shared_ptr<const LinkTraffic> traffic_;
  std::vector<LinkId> shown_;
};

}  // namespace trainyard::gui
