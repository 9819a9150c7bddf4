#include "gui/models/timeline_totals_model.h"

#include <algorithm>
#include <numeric>

#include "gui/paint/slice_text.h"
#include "gui/paint/time_view.h"

namespace trainyard::gui {

namespace {

Nanoseconds total(const KindTimes& times) { return std::accumulate(times.begin(), times.end(), Nanoseconds{0}); }

QString text(Nanoseconds time) { return QString::fromStdString(time_text(static_cast<double>(time))); }

}  // namespace

void TimelineTotalsModel::set(const TimelineRows* rows, Nanoseconds begin, Nanoseconds end, std::size_t first_row,
                              std::size_t last_row) {
  beginResetModel();
  rows_ = rows;
  begin_ = begin;
  end_ = std::max(begin, end);
  shown_.clear();
  totals_.clear();
  kinds_.clear();
  const std::size_t count = rows == nullptr ? 0 : rows->rows().size();
  for (std::size_t row = first_row; row < count && row <= last_row; ++row) {
    shown_.push_back(row);
    totals_.push_back(rows->rows()[row].pyramid->totals(begin_, end_));
  }
  const KindTimes all = sum();
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    if (all[kind] > 0) {
      kinds_.push_back(static_cast<InstructionKind>(kind));
    }
  }
  endResetModel();
}

KindTimes TimelineTotalsModel::sum() const {
  KindTimes all = {};
  for (const KindTimes& times : totals_) {
    for (std::size_t kind = 0; kind < all.size(); ++kind) {
      all[kind] += times[kind];
    }
  }
  return all;
}

int TimelineTotalsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

int TimelineTotalsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kFixedColumns + static_cast<int>(kinds_.size());
}

QVariant TimelineTotalsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  if (role == Qt::TextAlignmentRole && index.column() >= kBusy) {
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  const auto place = static_cast<std::size_t>(index.row());
  const Nanoseconds busy = total(totals_[place]);
  switch (index.column()) {
    case kRow:
      return QString::fromStdString(row_name(*rows_, shown_[place]));
    case kRanks:
      return QString::fromStdString(row_detail(*rows_, shown_[place]));
    case kBusy:
      return text(busy);
    case kShare:
      return QStringLiteral("%1 %").arg(
          span() > 0 ? 100.0 * static_cast<double>(busy) / static_cast<double>(span()) : 0.0, 0, 'f', 1);
    default:
      return text(
          totals_[place][static_cast<std::size_t>(kinds_[static_cast<std::size_t>(index.column() - kFixedColumns)])]);
  }
}

QVariant TimelineTotalsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical || section < 0 || section >= columnCount()) {
    return role == Qt::DisplayRole && orientation == Qt::Vertical ? QVariant(section + 1) : QVariant();
  }
  const bool of_kind = section >= kFixedColumns;
  const InstructionKind kind = of_kind ? kinds_[static_cast<std::size_t>(section - kFixedColumns)] : InstructionKind{};
  if (role == Qt::ToolTipRole && of_kind) {
    return QString::fromStdString(kind_meaning(kind));
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kRow:
      return tr("Row");
    case kRanks:
      return tr("Ranks");
    case kBusy:
      return tr("At work");
    case kShare:
      return tr("Share of the span");
    default:
      return QString::fromStdString(kind_name(kind));
  }
}

}  // namespace trainyard::gui
