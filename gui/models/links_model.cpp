#include "gui/models/links_model.h"

#include <algorithm>
#include <numeric>

#include "core/units/format_quantity.h"

namespace trainyard::gui {

void LinksModel::set(std::shared_ptr<const Cluster> cluster, std::shared_ptr<const LinkTraffic> traffic) {
  beginResetModel();
  cluster_ = std::move(cluster);
  traffic_ = std::move(traffic);
  shown_.clear();
  if (cluster_) {
    shown_.reserve(cluster_->links().size());
    for (std::size_t l = 0; l < cluster_->links().size(); ++l) {
      shown_.emplace_back(static_cast<std::int64_t>(l));
    }
    const std::size_t most = std::min(kMost, shown_.size());
    if (traffic_) {
      std::partial_sort(shown_.begin(), shown_.begin() + static_cast<std::ptrdiff_t>(most), shown_.end(),
                        [&](LinkId a, LinkId b) {
                          const float x = traffic_->busy[a.at()];
                          const float y = traffic_->busy[b.at()];
                          return x != y ? x > y : a < b;
                        });
    }
    shown_.resize(most);
  }
  endResetModel();
}

std::optional<int> LinksModel::row_of(LinkId link) const {
  const auto found = std::find(shown_.begin(), shown_.end(), link);
  return found == shown_.end() ? std::nullopt : std::optional(static_cast<int>(found - shown_.begin()));
}

std::size_t LinksModel::left_out() const { return cluster_ ? cluster_->links().size() - shown_.size() : 0; }

int LinksModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

int LinksModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant LinksModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  if (role == Qt::TextAlignmentRole && index.column() >= kBandwidth) {
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  const LinkId id = link(index.row());
  const Link& of = cluster_->link(id);
  const auto text = [](const std::string& s) { return QString::fromStdString(s); };
  switch (index.column()) {
    case kFrom:
      return text(cluster_->vertex(of.from).name);
    case kTo:
      return text(cluster_->vertex(of.to).name);
    case kKind:
      return text(std::string(to_string(of.kind)));
    case kBandwidth:
      return text(format_quantity(of.bandwidth));
    case kBusy:
      return traffic_ ? QStringLiteral("%1 %").arg(100.0 * static_cast<double>(traffic_->busy[id.at()]), 0, 'f', 1)
                      : QString();
    case kForward:
      return traffic_ ? text(format_quantity(traffic_->forward[id.at()])) : QString();
    case kReverse:
      return traffic_ ? text(format_quantity(traffic_->reverse[id.at()])) : QString();
    default:
      return {};
  }
}

QVariant LinksModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical) {
    return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
  }
  if (role == Qt::ToolTipRole && section == kBusy) {
    return tr("Share of the time that the busier direction sends at full rate");
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kFrom:
      return tr("From");
    case kTo:
      return tr("To");
    case kKind:
      return tr("Kind");
    case kBandwidth:
      return tr("Bandwidth, one way");
    case kBusy:
      return tr("Busy");
    case kForward:
      return tr("Bytes there");
    case kReverse:
      return tr("Bytes back");
    default:
      return {};
  }
}

}  // namespace trainyard::gui
