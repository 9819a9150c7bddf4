#include "gui/models/plans_model.h"

#include <QColor>
#include <QFont>
#include <QGuiApplication>
#include <QPalette>
#include <cmath>

#include "core/layout/layout_legend.h"
#include "core/units/format_quantity.h"
#include "gui/paint/theme.h"

namespace trainyard::gui {

namespace {

QString range_text(const PlanRow& row) {
  return row.low && row.high ? QObject::tr("4 of 5 runs are expected between %1 and %2")
                                   .arg(QString::fromStdString(format_quantity(*row.low)),
                                        QString::fromStdString(format_quantity(*row.high)))
                             : QString();
}

}  // namespace

PlansModel::PlansModel(Session& session, QObject* parent)
    : QAbstractTableModel(parent), session_(session), results_(session.results()) {
  connect(&results_, &Results::plans_about_to_change, this, [this] { beginResetModel(); });
  connect(&results_, &Results::plans_changed, this, [this] { endResetModel(); });
  connect(&session.document(), &StudyDocument::study_changed, this, &PlansModel::take_stars);
  connect(&session.selection(), &Selection::comparison_changed, this, &PlansModel::marks_changed);
  take_stars();
}

void PlansModel::take_stars() {
  const std::vector<std::string>& starred = session_.document().study().starred;
  std::set<std::string> now(starred.begin(), starred.end());
  if (now != starred_) {
    starred_ = std::move(now);
    marks_changed();
  }
}

void PlansModel::marks_changed() {
  if (rowCount() > 0) {
    Q_EMIT dataChanged(index(0, kStarColumn), index(rowCount() - 1, kStarColumn));
  }
}

QString PlansModel::compared(int place) const {
  const Selection& selection = session_.selection();
  return (selection.plan_a() == place ? QStringLiteral(" A") : QString()) +
         (selection.plan_b() == place ? QStringLiteral(" B") : QString());
}

int PlansModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(results_.plans().size());
}

int PlansModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kPlanColumns + 1; }

std::optional<PlanColumn> PlansModel::column_of(int section) {
  return section > kStarColumn && section <= kPlanColumns ? std::optional(static_cast<PlanColumn>(section - 1))
                                                          : std::nullopt;
}

QVariant PlansModel::star(int place, const PlanRow& row, int role) const {
  const bool starred = starred_.contains(row.text);
  switch (role) {
    case Qt::DisplayRole:
      return (starred ? QStringLiteral("★") : QStringLiteral("☆")) + compared(place);
    case kSortRole:
      return starred ? 0 : 1;
    case Qt::ToolTipRole:
      return starred ? tr("Starred: kept with the study. Click to take the star off")
                     : tr("Click to star: kept with the study");
    case Qt::AccessibleTextRole:
      return (starred ? tr("starred") : tr("not starred")) + compared(place);
    case Qt::TextAlignmentRole:
      return static_cast<int>(Qt::AlignCenter);
    default:
      return {};
  }
}

QVariant PlansModel::tip(const PlanRow& row, PlanColumn column) const {
  if (row.infeasible) {
    return tr("Can't run: %1").arg(QString::fromStdString(row.infeasible->detail));
  }
  if (column == PlanColumn::kLayout) {
    return QString::fromStdString(row.text + "\n\n" + layout_legend({row.text}))
        .replace(QStringLiteral("; "), QStringLiteral("\n"));
  }
  if (column == PlanColumn::kStepTime) {
    const QString priced = row.simulated ? tr("simulated instruction by instruction") : tr("by formula");
    return range_text(row).isEmpty() ? priced : range_text(row) + QStringLiteral("; ") + priced;
  }
  if (column == PlanColumn::kMemory) {
    return tr("stage %1 needs %2 of %3 a rank")
        .arg(row.memory_stage)
        .arg(QString::fromStdString(format_quantity(row.memory)),
             QString::fromStdString(format_quantity(row.available)));
  }
  return meaning_of(column);
}

QVariant PlansModel::data(const QModelIndex& index, int role) const {
  const PlanRow* row = index.isValid() ? results_.plan(index.row()) : nullptr;
  if (row == nullptr) {
    return {};
  }
  const std::optional<PlanColumn> column = column_of(index.column());
  if (!column) {
    return star(index.row(), *row, role);
  }
  switch (role) {
    case Qt::DisplayRole:
      if (row->infeasible && *column == PlanColumn::kStepTime) {
        return tr("can't run");
      }
      return text_of(*row, *column);
    case kSortRole: {
      if (*column == PlanColumn::kLayout) {
        return QString::fromStdString(row->text);
      }
      const double value = value_of(*row, *column);
      return std::isnan(value) ? QVariant() : QVariant(value);
    }
    case kBestRole:
      return *column == PlanColumn::kLayout && results_.plans().front().feasible()
                 ? QVariant(QString::fromStdString(results_.plans().front().text))
                 : QVariant();
    case Qt::ToolTipRole:
      return tip(*row, *column);
    case Qt::TextAlignmentRole:
      return static_cast<int>((*column == PlanColumn::kLayout ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::ForegroundRole:
      return row->infeasible ? QVariant(current(QGuiApplication::palette()).muted) : QVariant();
    case Qt::FontRole:
      if (row->infeasible) {
        QFont font;
        font.setItalic(true);
        return font;
      }
      return {};
    default:
      return {};
  }
}

QVariant PlansModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical) {
    return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
  }
  const std::optional<PlanColumn> column = column_of(section);
  if (!column) {
    return role == Qt::DisplayRole                                     ? QVariant(QStringLiteral("★"))
           : role == Qt::ToolTipRole || role == Qt::AccessibleTextRole ? QVariant(tr("Starred"))
                                                                       : QVariant();
  }
  if (role == Qt::DisplayRole) {
    return title_of(*column);
  }
  return role == Qt::ToolTipRole ? QVariant(meaning_of(*column)) : QVariant();
}

PlansFilter::PlansFilter(Results& results, QObject* parent) : QSortFilterProxyModel(parent), results_(results) {
  setSortRole(PlansModel::kSortRole);
  connect(&results_, &Results::filter_changed, this, [this] { invalidateFilter(); });
}

void PlansFilter::only_starred(bool only) {
  only_starred_ = only;
  invalidateFilter();
}

bool PlansFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  if (only_starred_ &&
      sourceModel()->index(row, PlansModel::kStarColumn, parent).data(PlansModel::kSortRole).toInt() != 0) {
    return false;
  }
  return results_.passes(row);
}

bool PlansFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const PlanRow* a = results_.plan(left.row());
  const PlanRow* b = results_.plan(right.row());
  const bool rising = sortOrder() == Qt::AscendingOrder;
  if (a != nullptr && b != nullptr && a->feasible() != b->feasible()) {
    return a->feasible() == rising;
  }
  const QVariant first = left.data(sortRole());
  const QVariant second = right.data(sortRole());
  if (first.isValid() != second.isValid()) {
    return first.isValid() == rising;  // what has no value comes last
  }
  return first.typeId() == QMetaType::QString ? first.toString() < second.toString()
                                              : first.toDouble() < second.toDouble();
}

}  // namespace trainyard::gui
