#include "gui/views/plans_dock.h"

#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <cmath>

#include "core/units/format_quantity.h"
#include "gui/paint/theme.h"
#include "gui/views/filter_chips.h"
#include "gui/views/layout_words.h"
#include "gui/views/no_plans.h"
#include "gui/views/row_table.h"

namespace trainyard::gui {

namespace {

constexpr int kLayoutLetters = 44;
constexpr int kMostLayoutLetters = 110;

QString counted(std::int64_t value) { return QLocale(QLocale::English).toString(static_cast<qlonglong>(value)); }

// Columns that say nothing of these plans: all without a value.
bool has_values(const Results& results, PlanColumn column) {
  return column == PlanColumn::kLayout || std::ranges::any_of(results.plans(), [column](const PlanRow& row) {
           return !std::isnan(value_of(row, column));
         });
}

}  // namespace

PlansDock::PlansDock(Session& session, QWidget* parent)
    : View(QStringLiteral("plans"), tr("Plans"), parent),
      session_(session),
      model_(new PlansModel(session, this)),
      filter_(new PlansFilter(session.results(), this)) {
  filter_->setSourceModel(model_);
  make_actions();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 0);
  column->addWidget(make_header());
  column->addWidget(new FilterChips(session.results()));
  empty_ = new QLabel;
  empty_->setWordWrap(true);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setMargin(24);
  column->addWidget(empty_, 1);
  make_table();
  column->addWidget(view_, 10);
  connect(&session_.results(), &Results::plans_changed, this, [this] {
    show_summary();
    show_selection();
  });
  connect(&session_.results(), &Results::filter_changed, this, [this] {
    show_summary();
    show_selection();
  });
  connect(&session_.selection(), &Selection::plan_changed, this, &PlansDock::show_selection);
  connect(&session_.search(), &Search::running_changed, this, &PlansDock::show_summary);
  connect(&session_.search(), &Search::checked, this, &PlansDock::show_summary);
  connect(&session_.search(), &Search::failed, this,
          [this](const Failure& failure) { summary_->setText(tr("The search failed: %1").arg(failure.text())); });
  show_summary();
}

void PlansDock::make_actions() {
  const auto action = [this](const QString& text, const QString& keys, const QString& tip, auto act) {
    auto* made = new QAction(text, this);
    made->setShortcut(QKeySequence(keys));
    made->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    made->setToolTip(tip);
    connect(made, &QAction::triggered, this, act);
    addAction(made);
    return made;
  };
  star_ = action(tr("Star the plan, or take its star off"), QStringLiteral("S"), tr("Stars are kept with the study"),
                 [this] {
                   if (const auto plan = session_.selection().plan()) {
                     session_.set_starred(*plan, !session_.is_starred(*plan));
                   }
                 });
  a_ = action(tr("Compare: this is plan A"), QStringLiteral("A"), tr("Why and Memory show A against B"),
              [this] { session_.selection().compare(session_.selection().plan(), session_.selection().plan_b()); });
  b_ = action(tr("Compare: this is plan B"), QStringLiteral("B"), tr("Why and Memory show A against B"),
              [this] { session_.selection().compare(session_.selection().plan_a(), session_.selection().plan()); });
  run_ = action(tr("Run the plan on this machine"), QStringLiteral("R"),
                tr("Really trains, a process a rank; plans for this machine only"), [this] { Q_EMIT run_asked(); });
  save_plan_ = action(tr("Save the plan as plan.json…"), {}, tr("For `trainyard run`, simulate, compare and export"),
                      [this] { Q_EMIT save_plan_asked(); });
}

QWidget* PlansDock::make_header() {
  auto* header = new QWidget;
  auto* line = new QHBoxLayout(header);
  line->setContentsMargins(0, 0, 0, 0);
  search_ = new QPushButton(tr("Search"));
  search_->setObjectName(QStringLiteral("search"));
  connect(search_, &QPushButton::clicked, this, [this] {
    if (session_.search().running()) {
      session_.search().cancel();
    } else {
      session_.search().start();
    }
  });
  line->addWidget(search_);
  summary_ = new QLabel;
  summary_->setWordWrap(true);
  line->addWidget(summary_, 1);
  auto* starred = new QCheckBox(tr("Starred"));
  starred->setToolTip(tr("Only plans with a star"));
  connect(starred, &QCheckBox::toggled, filter_, &PlansFilter::only_starred);
  line->addWidget(starred);
  auto* infeasible = new QCheckBox(tr("Those that can't run"));
  infeasible->setObjectName(QStringLiteral("infeasible"));
  infeasible->setToolTip(tr("Also layouts that don't fit or don't divide, with the reason; those that lack least"));
  connect(infeasible, &QCheckBox::toggled, &session_.results(), &Results::show_infeasible);
  line->addWidget(infeasible);
  return header;
}

void PlansDock::make_table() {
  view_ = make_row_table(filter_, tr("Plans"));
  setFocusProxy(view_);
  view_->setSortingEnabled(true);
  view_->setAlternatingRowColors(true);
  view_->verticalHeader()->setDefaultSectionSize(view_->fontMetrics().height() + 8);
  view_->horizontalHeader()->setSectionsMovable(true);
  view_->sortByColumn(static_cast<int>(PlanColumn::kStepTime) + 1, Qt::AscendingOrder);
  view_->setContextMenuPolicy(Qt::CustomContextMenu);
  const int letter = view_->fontMetrics().averageCharWidth();
  view_->setColumnWidth(PlansModel::kStarColumn, 5 * letter);
  view_->setItemDelegateForColumn(static_cast<int>(PlanColumn::kLayout) + 1, new LayoutDelegate(view_));
  view_->setColumnWidth(static_cast<int>(PlanColumn::kLayout) + 1, kLayoutLetters * letter);
  for (int section = static_cast<int>(PlanColumn::kStepTime) + 1; section <= kPlanColumns; ++section) {
    const QString title = filter_->headerData(section, Qt::Horizontal).toString();
    view_->setColumnWidth(section, view_->fontMetrics().horizontalAdvance(title) + 5 * letter);
  }
  connect(view_, &QTableView::customContextMenuRequested, this, &PlansDock::menu_at);
  connect(view_, &QTableView::clicked, this, &PlansDock::clicked);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &PlansDock::take_current);
}

// Room that no column takes goes to the layout, until its longest has enough.
void PlansDock::give_layout_the_rest() {
  constexpr int kLayout = static_cast<int>(PlanColumn::kLayout) + 1;
  const int letter = view_->fontMetrics().averageCharWidth();
  const int spare = view_->viewport()->width() - view_->horizontalHeader()->length();
  const int width =
      std::clamp(view_->columnWidth(kLayout) + spare, kLayoutLetters * letter, kMostLayoutLetters * letter);
  view_->setColumnWidth(kLayout, width);
}

void PlansDock::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  give_layout_the_rest();
}

void PlansDock::show_summary() {
  const Results& results = session_.results();
  const Search& search = session_.search();
  search_->setText(search.running() ? tr("Stop") : tr("Search"));
  search_->setToolTip(search.running() ? tr("Stop; what was found so far stays")
                                       : tr("Search the layouts of these inputs; edits do so by themselves"));
  search_->setEnabled(search.running() || search.problem() || search.unmeasured());
  for (int section = 1; section <= kPlanColumns; ++section) {
    view_->setColumnHidden(section, !results.plans().empty() && !has_values(results, *PlansModel::column_of(section)));
  }
  const SearchSummary& summary = results.summary();
  const bool none = results.plans().empty();
  empty_->setVisible(none || filter_->rowCount() == 0);
  view_->setVisible(!empty_->isVisibleTo(this));
  if (none) {
    empty_->setText(no_plans(session_));
  } else if (filter_->rowCount() == 0) {
    const bool feasible = results.plans().front().feasible();
    empty_->setText(feasible ? tr("No plan passes the filters: take some off above.")
                             : tr("None of %1 layouts can run. Tick “Those that can't run” for the reasons.")
                                   .arg(counted(summary.considered)));
  }
  QString text;
  if (!none) {
    const PlanRow& best = results.plans().front();
    const QString fit = summary.feasible > 0
                            ? tr("%1 of %2 layouts fit").arg(counted(summary.feasible), counted(summary.considered))
                            : tr("%1 layouts looked at").arg(counted(summary.considered));
    text = best.feasible() ? tr("%1; best %2 a step").arg(fit, QString::fromStdString(format_quantity(best.step_time)))
                           : fit;
    text += search.running() ? tr("; searching") : summary.stopped ? tr("; stopped early") : QString();
    if (!search.errors().empty()) {
      text += tr("; of the inputs before the last edit");
    }
  }
  summary_->setText(text);
}

void PlansDock::show_selection() {
  const std::optional<int> plan = session_.selection().plan();
  const QModelIndex index =
      plan ? filter_->mapFromSource(model_->index(*plan, PlansModel::kStarColumn + 1)) : QModelIndex();
  showing_ = true;
  if (index.isValid()) {
    view_->selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    view_->scrollTo(index);
  } else {
    view_->clearSelection();
  }
  showing_ = false;
  const PlanRow* row = session_.results().plan(plan);
  const bool feasible = row != nullptr && row->feasible();
  for (QAction* action : {star_, a_, b_}) {
    action->setEnabled(row != nullptr);
  }
  save_plan_->setEnabled(feasible);
  const auto& problem = session_.analysis().problem();
  run_->setEnabled(feasible && problem && problem->on_this_machine());
}

void PlansDock::take_current(const QModelIndex& current) {
  if (!showing_ && current.isValid()) {
    session_.selection().select_plan(filter_->mapToSource(current).row());
  }
}

void PlansDock::clicked(const QModelIndex& index) {
  if (index.column() == PlansModel::kStarColumn) {
    const int plan = filter_->mapToSource(index).row();
    session_.set_starred(plan, !session_.is_starred(plan));
  }
}

void PlansDock::menu_at(const QPoint& place) {
  const QModelIndex index = view_->indexAt(place);
  if (!index.isValid()) {
    return;
  }
  QMenu menu(this);
  menu.addActions({star_, a_, b_, run_, save_plan_});
  menu.addSeparator();
  if (const auto column = PlansModel::column_of(filter_->mapToSource(index).column());
      column && *column != PlanColumn::kLayout) {
    menu.addAction(tr("Only %1 %2").arg(title_of(*column), index.data().toString()), this,
                   [this, index] { filter_by(index); });
  }
  menu.addAction(tr("Copy the layout"), this, [this] {
    if (const PlanRow* row = session_.results().plan(session_.selection().plan())) {
      QGuiApplication::clipboard()->setText(QString::fromStdString(row->text));
    }
  });
  menu.exec(view_->viewport()->mapToGlobal(place));
}

void PlansDock::filter_by(const QModelIndex& index) {
  const QModelIndex source = filter_->mapToSource(index);
  const PlanRow* row = session_.results().plan(source.row());
  const std::optional<PlanColumn> column = PlansModel::column_of(source.column());
  if (row != nullptr && column) {
    const double value = value_of(*row, *column);
    session_.results().set_filter({*column, value, value});
  }
}

}  // namespace trainyard::gui
