#include "gui/models/runs_model.h"

#include <array>

#include "core/units/format_quantity.h"

namespace trainyard::gui {

namespace {

QString time_text(const std::optional<Seconds>& time) {
  return time ? QString::fromStdString(format_quantity(*time)) : QStringLiteral("–");
}

QString cell(const Run& run, int column) {
  const std::optional<Seconds> predicted = run.predicted_step();
  const std::optional<Seconds> measured = run.median_warm_step();
  switch (column) {
    case RunsModel::kLayout:
      return run.layout.empty() ? QStringLiteral("–") : QString::fromStdString(run.layout);
    case RunsModel::kState:
      return to_text(run.state);
    case RunsModel::kSteps:
      return QObject::tr("%1 of %2").arg(run.record.steps.size()).arg(run.steps);
    case RunsModel::kLoss:
      return run.record.steps.empty() ? QStringLiteral("–") : QString::number(run.record.steps.back().loss, 'f', 3);
    case RunsModel::kPredicted:
      return time_text(predicted);
    case RunsModel::kMeasured:
      return time_text(measured);
    case RunsModel::kRatio:
      return predicted && measured ? QString::number(*predicted / *measured, 'f', 2) : QStringLiteral("–");
    case RunsModel::kFolder:
      return run.folder;
    default:
      return {};
  }
}

struct Heading {
  const char* title;
  const char* tip;
};

constexpr std::array<Heading, RunsModel::kColumns> kHeadings = {{
    {"Layout", "Of the plan that ran"},
    {"State", "How far the run is"},
    {"Steps", "Done, of those asked for"},
    {"Loss", "Of the last step, in nats a token: what training makes smaller"},
    {"Predicted", "Step time that the plan was predicted to take"},
    {"Measured", "Median step time of this run, the first step left out: it warms up"},
    {"Pred./meas.", "Predicted over measured step time; 1: the prediction was right"},
    {"Folder", "Where the run's plan.json, record.jsonl, trace.json and weights are"},
}};

}  // namespace

RunsModel::RunsModel(RunList& runs, QObject* parent)
    : QAbstractTableModel(parent), runs_(runs), rows_(runs.runs().size()) {
  connect(&runs_, &RunList::run_added, this, [this](int index) {
    beginInsertRows({}, index, index);
    rows_ = runs_.runs().size();
    endInsertRows();
  });
  connect(&runs_, &RunList::run_changed, this,
          [this](int row) { Q_EMIT dataChanged(index(row, 0), index(row, kColumns - 1)); });
  connect(&runs_, &RunList::runs_reset, this, [this] {
    beginResetModel();
    rows_ = runs_.runs().size();
    endResetModel();
  });
}

int RunsModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(rows_); }
int RunsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant RunsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || static_cast<std::size_t>(index.row()) >= runs_.runs().size()) {
    return {};
  }
  const Run& run = runs_.runs()[static_cast<std::size_t>(index.row())];
  if (role == Qt::DisplayRole) {
    return cell(run, index.column());
  }
  if (role == Qt::ToolTipRole) {
    return index.column() == kState && !run.message.isEmpty() ? run.message : cell(run, index.column());
  }
  if (role == Qt::TextAlignmentRole) {
    const bool number = index.column() >= kSteps && index.column() <= kRatio;
    return static_cast<int>((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

QVariant RunsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical || section < 0 || section >= kColumns) {
    return {};
  }
  const Heading& heading = kHeadings.at(static_cast<std::size_t>(section));
  return role == Qt::DisplayRole   ? QVariant(tr(heading.title))
         : role == Qt::ToolTipRole ? QVariant(tr(heading.tip))
                                   : QVariant();
}

}  // namespace trainyard::gui
