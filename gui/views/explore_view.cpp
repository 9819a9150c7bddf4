#include "gui/views/explore_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/views/explore_plots.h"
#include "gui/views/filter_chips.h"

namespace trainyard::gui {

namespace {

constexpr int kBrushDelay = 30;  // ms

std::vector<const PlanRow*> rows_at(const Results& results, const std::vector<int>& plans) {
  std::vector<const PlanRow*> rows;
  for (const int plan : plans) {
    rows.push_back(results.plan(plan));
  }
  return rows;
}

}  // namespace

ExploreView::ExploreView(Session& session, QWidget* parent)
    : RefreshingView(QStringLiteral("explore"), tr("Explore"), session, parent) {
  axes_ = new ParallelAxes(tr("Plans over their degrees and results: a line a plan"));
  scatter_ = new ScatterChart(tr("Two results of all plans against each other"));
  scatter_->setToolTip(tr("Click selects a plan; drag keeps a rectangle of plans, with Shift what a lasso encloses."));
  x_ = new QComboBox;
  y_ = new QComboBox;
  shade_ = new QComboBox;
  auto* choices = new QHBoxLayout;
  const auto add = [&](const QString& name, QComboBox* choice) {
    auto* label = new QLabel(name);
    label->setBuddy(choice);
    choice->setAccessibleName(name);
    choices->addWidget(label);
    choices->addWidget(choice);
    connect(choice, &QComboBox::activated, this, [this] { refresh_later(); });
  };
  add(tr("Across"), x_);
  add(tr("Up"), y_);
  add(tr("Colour by"), shade_);
  shown_ = new QMenu(this);
  shown_->setToolTipsVisible(true);
  auto* which = new QToolButton;
  which->setText(tr("Axes"));
  which->setToolTip(tr("Which columns have an axis"));
  which->setMenu(shown_);
  which->setPopupMode(QToolButton::InstantPopup);
  choices->addWidget(which);
  choices->addStretch(1);
  // Others say the same in other words, or follow from the rest.
  hidden_ = {PlanColumn::kAccumulation, PlanColumn::kChunks, PlanColumn::kTokensPerSecond, PlanColumn::kTokensPerDay};
  auto* both = new QSplitter(Qt::Vertical, this);
  both->addWidget(axes_);
  both->addWidget(scatter_);
  both->setStretchFactor(0, 1);
  both->setStretchFactor(1, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->addLayout(choices);
  layout->addWidget(new FilterChips(session.results(), this));
  layout->addWidget(both, 1);
  const auto select = [this](int point) {
    this->session().selection().select_plan(plans_.at(static_cast<std::size_t>(point)));
  };
  connect(axes_, &Chart::activated, this, select);
  connect(scatter_, &Chart::activated, this, select);
  connect(axes_, &ParallelAxes::brushed, this,
          [this](int axis, double low, double high) { brush(columns_.at(static_cast<std::size_t>(axis)), low, high); });
  connect(axes_, &ParallelAxes::brush_removed, this,
          [this](int axis) { this->session().results().remove_filter(columns_.at(static_cast<std::size_t>(axis))); });
  connect(axes_, &ParallelAxes::shade_wanted, this, [this](int axis) {
    const int column = static_cast<int>(columns_.at(static_cast<std::size_t>(axis)));
    if (const int at = shade_->findData(column); at >= 0) {
      shade_->setCurrentIndex(at);
      refresh_later();
    }
  });
  connect(scatter_, &ScatterChart::brushed, this, [this](double x_low, double x_high, double y_low, double y_high) {
    brush(chosen(*x_, PlanColumn::kStepTime), x_low, x_high);
    brush(chosen(*y_, PlanColumn::kMemory), y_low, y_high);
  });
  const auto tips = [this](int point) { return tip(point); };
  axes_->set_tip(tips);
  scatter_->set_tip(tips);
  delay_.setSingleShot(true);
  delay_.setInterval(kBrushDelay);
  connect(&delay_, &QTimer::timeout, this, &ExploreView::apply_brushes);
  connect(&session.results(), &Results::filter_changed, this, &ExploreView::take_filters);
  connect(&session.selection(), &Selection::plan_changed, this, &ExploreView::take_selection);
  connect(&session.selection(), &Selection::comparison_changed, this, &ExploreView::take_selection);
  refresh_now();
}

PlanColumn ExploreView::chosen(const QComboBox& choice, PlanColumn usual) {
  return choice.currentIndex() < 0 ? usual : static_cast<PlanColumn>(choice.currentData().toInt());
}

void ExploreView::fill(QComboBox& choice, const std::vector<PlanColumn>& columns, PlanColumn usual) {
  const PlanColumn before = chosen(choice, usual);
  choice.clear();
  for (const PlanColumn column : columns) {
    choice.addItem(heading_of(column), static_cast<int>(column));
    choice.setItemData(choice.count() - 1, meaning_of(column), Qt::ToolTipRole);
  }
  choice.setCurrentIndex(std::max(0, choice.findData(static_cast<int>(before))));
}

void ExploreView::fill_menu(const std::vector<PlanColumn>& columns) {
  shown_->clear();
  for (const PlanColumn column : columns) {
    QAction* action = shown_->addAction(heading_of(column));
    action->setCheckable(true);
    action->setChecked(!hidden_.contains(column));
    action->setToolTip(meaning_of(column));
    connect(action, &QAction::toggled, this, [this, column](bool shown) {
      if (shown) {
        hidden_.erase(column);
      } else {
        hidden_.insert(column);
      }
      refresh_later();
    });
  }
}

std::vector<char> ExploreView::passing() const {
  std::vector<char> passes;
  for (const int plan : plans_) {
    passes.push_back(session().results().passes(plan) ? 1 : 0);
  }
  return passes;
}

void ExploreView::refresh() {
  const Results& results = session().results();
  plans_.clear();
  for (std::size_t i = 0; i < results.plans().size(); ++i) {
    if (results.plans()[i].feasible()) {
      plans_.push_back(static_cast<int>(i));
    }
  }
  const std::vector<const PlanRow*> rows = rows_at(results, plans_);
  const QString why = results.plans().empty()
                          ? tr("No plans yet. Choose a model and a cluster in Inputs, then search.")
                          : tr("No plan fits. Show the ones that don't in Plans: each says what it lacks.");
  axes_->set_empty_text(why);
  scatter_->set_empty_text(why);
  const std::vector<PlanColumn> metrics = metrics_of(rows);
  fill(*x_, metrics, PlanColumn::kStepTime);
  fill(*y_, metrics, PlanColumn::kMemory);
  std::vector<PlanColumn> columns = columns_of(rows);
  fill_menu(columns);
  std::vector<PlanColumn> shades = metrics;
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(shades), [](PlanColumn c) { return is_degree(c); });
  fill(*shade_, shades, PlanColumn::kMfu);
  for (QComboBox* choice : {x_, y_, shade_}) {
    choice->setEnabled(!metrics.empty());
  }
  std::erase_if(columns, [this](PlanColumn column) { return hidden_.contains(column); });
  if (columns != columns_) {
    columns_ = columns;
    axes_->set_plot({});  // forgets the order of other axes
  }
  if (rows.empty()) {
    axes_->set_plot({});
    scatter_->set_plot({});
    return;
  }
  const PlanColumn shade = chosen(*shade_, PlanColumn::kMfu);
  const std::vector<char> passes = passing();
  axes_->set_plot(parallel_plot(rows, columns_, shade, passes));
  scatter_->set_plot(
      scatter_plot(rows, chosen(*x_, PlanColumn::kStepTime), chosen(*y_, PlanColumn::kMemory), shade, passes));
  take_filters();
  take_selection();
}

void ExploreView::take_filters() {
  std::vector<Brush> brushes(columns_.size());
  for (const RangeFilter& filter : session().results().filters()) {
    const auto at = std::find(columns_.begin(), columns_.end(), filter.column);
    if (at != columns_.end()) {
      brushes[static_cast<std::size_t>(at - columns_.begin())] = std::make_pair(filter.low, filter.high);
    }
  }
  axes_->set_brushes(std::move(brushes));
  const std::vector<char> passes = passing();
  axes_->set_passes(passes);
  scatter_->set_passes(passes, !smaller_is_better(chosen(*x_, PlanColumn::kStepTime)),
                       !smaller_is_better(chosen(*y_, PlanColumn::kMemory)));
}

std::optional<int> ExploreView::point_of(std::optional<int> plan) const {
  const auto at = plan ? std::find(plans_.begin(), plans_.end(), *plan) : plans_.end();
  return at == plans_.end() ? std::nullopt : std::optional(static_cast<int>(at - plans_.begin()));
}

void ExploreView::take_selection() {
  const Selection& selection = session().selection();
  const std::optional<int> plan = point_of(selection.plan());
  const std::optional<int> a = point_of(selection.plan_a());
  const std::optional<int> b = point_of(selection.plan_b());
  axes_->set_selected(plan, a, b);
  scatter_->set_selected(plan, a, b);
  scatter_->setAccessibleDescription(plan ? tip(*plan) : QString());
}

QString ExploreView::tip(int point) const {
  const PlanRow* row = session().results().plan(plans_.at(static_cast<std::size_t>(point)));
  return row == nullptr ? QString() : tip_of(*row, metrics_of({row}));
}

void ExploreView::brush(PlanColumn column, double low, double high) {
  std::erase_if(brushed_, [&](const RangeFilter& filter) { return filter.column == column; });
  brushed_.push_back({column, low, high});
  std::vector<Brush> brushes = axes_->brushes();
  const auto at = std::find(columns_.begin(), columns_.end(), column);
  if (at != columns_.end()) {
    brushes.at(static_cast<std::size_t>(at - columns_.begin())) = std::make_pair(low, high);
    axes_->set_brushes(std::move(brushes));
  }
  if (!delay_.isActive()) {
    delay_.start();
  }
}

void ExploreView::apply_brushes() {
  for (const RangeFilter& filter : std::exchange(brushed_, {})) {
    session().results().set_filter(filter);
  }
}

// Of what passes: the columns that the axes show.
QAbstractItemModel* ExploreView::table() {
  QStringList headings = {tr("Layout")};
  for (const PlanColumn column : columns_) {
    headings << heading_of(column);
  }
  std::vector<TableRow> rows;
  for (const int plan : plans_) {
    const PlanRow* row = session().results().plan(plan);
    if (row == nullptr || !session().results().passes(plan)) {
      continue;
    }
    TableRow cells = {{QString::fromStdString(row->text), std::nullopt}};
    for (const PlanColumn column : columns_) {
      const double value = value_of(*row, column);
      cells.push_back({std::isfinite(value) ? value_text(column, value) : QString(),
                       std::isfinite(value) ? std::optional(value) : std::nullopt});
    }
    rows.push_back(std::move(cells));
  }
  table_.set(headings, std::move(rows));
  return &table_;
}

}  // namespace trainyard::gui
