#include "gui/models/jobs_model.h"

#include <array>
#include <chrono>
#include <cmath>

#include "core/units/format_quantity.h"

namespace trainyard::gui {

namespace {

constexpr double kMillisecond = 1e-3;
constexpr double kPercent = 100.0;

QString state_text(JobState state) {
  constexpr std::array kTexts = {"waiting", "running", "done", "failed", "cancelled"};
  return QObject::tr(kTexts.at(static_cast<std::size_t>(state)));
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

QString time_text(double seconds) { return QString::fromStdString(format_quantity(from_si<Seconds>(seconds))); }

// Elapsed; while it runs, and how far it is is known, also what is left at this pace.
QString time_of(const JobInfo& job) {
  if (job.begun_ms == 0) {
    return {};
  }
  const bool runs = job.state == JobState::kRunning;
  const double elapsed = kMillisecond * static_cast<double>((runs ? now_ms() : job.ended_ms) - job.begun_ms);
  constexpr double kEnough = 0.05;  // less says little about the rest
  if (runs && job.fraction && *job.fraction > kEnough && *job.fraction < 1.0) {
    return QObject::tr("%1, about %2 left")
        .arg(time_text(std::round(elapsed)), time_text(std::round(elapsed / *job.fraction * (1.0 - *job.fraction))));
  }
  return time_text(elapsed);
}

}  // namespace

JobsModel::JobsModel(JobQueue& jobs, QObject* parent)
    : QAbstractTableModel(parent), jobs_(jobs), rows_(jobs.jobs().size()) {
  connect(&jobs_, &JobQueue::job_added, this, [this] {
    beginInsertRows({}, 0, 0);
    rows_ = jobs_.jobs().size();
    endInsertRows();
  });
  connect(&jobs_, &JobQueue::job_changed, this, [this](int row) {
    const int here = static_cast<int>(rows_) - 1 - row;
    Q_EMIT dataChanged(index(here, 0), index(here, kColumns - 1));
  });
  connect(&jobs_, &JobQueue::jobs_reset, this, [this] {
    beginResetModel();
    rows_ = jobs_.jobs().size();
    endResetModel();
  });
}

int JobsModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(rows_); }
int JobsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

const JobInfo* JobsModel::job(int row) const {
  const std::size_t place = rows_ - 1 - static_cast<std::size_t>(row);
  return row >= 0 && place < jobs_.jobs().size() ? &jobs_.jobs()[place] : nullptr;
}

QVariant JobsModel::data(const QModelIndex& index, int role) const {
  const JobInfo* info = index.isValid() ? job(index.row()) : nullptr;
  if (info == nullptr) {
    return {};
  }
  if (role == kFractionRole) {
    return info->fraction ? QVariant(*info->fraction) : QVariant();
  }
  if (role == kStateRole) {
    return static_cast<int>(info->state);
  }
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) {
    return {};
  }
  switch (index.column()) {
    case kTitle:
      return info->title;
    case kProgress:
      return info->state == JobState::kRunning && info->fraction
                 ? QStringLiteral("%1 %").arg(kPercent * *info->fraction, 0, 'f', 0)
                 : state_text(info->state);
    case kTime:
      return time_of(*info);
    case kText:
      return info->text;
    default:
      return {};
  }
}

QVariant JobsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical || role != Qt::DisplayRole || section < 0 || section >= kColumns) {
    return {};
  }
  constexpr std::array kTitles = {"Job", "Progress", "Time", "What it says"};
  return tr(kTitles.at(static_cast<std::size_t>(section)));
}

}  // namespace trainyard::gui
