#include "gui/views/explore_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/views/explore_plots.h"
#include "gui/views/filter_chips.h"
#include "gui/views/fitting_panes.h"
#include "gui/views/flow_layout.h"
#include "gui/views/no_plans.h"

namespace trainyard::gui {

namespace {

constexpr int kBrushDelay = 30;          // ms
constexpr QSize kComfortable(460, 250);  // of a chart beside another
constexpr int kLinesPane = 0;
constexpr int kPointsPane = 1;

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
  panes_ = new FittingPanes(this);
  panes_->add_pane(axes_, tr("Lines"),
                   tr("All degrees and results: a line a plan. Drag along an axis to keep a range."), kComfortable);
  panes_->add_pane(scatter_, tr("Points"),
                   tr("Two results against each other: a point a plan. Drag around some to keep them; with Shift a "
                      "rectangle. The dashed line joins the plans that no other beats in both."),
                   kComfortable);
  // Others say the same in other words, or follow from the rest.
  hidden_ = {PlanColumn::kAccumulation, PlanColumn::kChunks, PlanColumn::kTokensPerSecond, PlanColumn::kTokensPerDay};
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 4, 6, 4);
  layout->setSpacing(4);
  layout->addWidget(make_controls());
  layout->addWidget(new FilterChips(session.results(), this));
  layout->addWidget(panes_, 1);
  setFocusProxy(axes_);
  connect_charts();
  delay_.setSingleShot(true);
  delay_.setInterval(kBrushDelay);
  connect(&delay_, &QTimer::timeout, this, &ExploreView::apply_brushes);
  connect(&session.results(), &Results::filter_changed, this, &ExploreView::take_filters);
  connect(&session.selection(), &Selection::plan_changed, this, &ExploreView::take_selection);
  connect(&session.selection(), &Selection::comparison_changed, this, &ExploreView::take_selection);
  refresh_now();
}

// Tabs of the charts, choices and the colours' legend in a line, or more where the dock is narrow.
QWidget* ExploreView::make_controls() {
  auto* controls = new QWidget;
  auto* line = new FlowLayout(controls);
  line->addWidget(panes_->tabs());
  const auto add = [&](const QString& text, const QString& name, const QString& tip) {
    auto* one = new QWidget;
    auto* pair = new QHBoxLayout(one);
    pair->setContentsMargins(0, 0, 4, 0);
    auto* label = new QLabel(text);
    auto* choice = new QComboBox;
    choice->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    choice->setAccessibleName(name);
    choice->setToolTip(tip);
    label->setBuddy(choice);
    label->setToolTip(tip);
    pair->addWidget(label);
    pair->addWidget(choice);
    line->addWidget(one);
    connect(choice, &QComboBox::activated, this, [this] { refresh_later(); });
    return choice;
  };
  shade_ = add(tr("Colour by"), tr("Colour by"), tr("What the colours of lines and points say"));
  x_ = add(tr("x"), tr("Across"), tr("What points lie to the right by"));
  y_ = add(tr("y"), tr("Up"), tr("What points lie high by"));
  shown_ = new QMenu(this);
  shown_->setToolTipsVisible(true);
  which_ = new QToolButton;
  which_->setText(tr("Axes"));
  which_->setToolTip(tr("Which columns have an axis"));
  which_->setMenu(shown_);
  which_->setPopupMode(QToolButton::InstantPopup);
  line->addWidget(which_);
  ramp_ = new RampLegend;
  line->addWidget(ramp_);
  connect(panes_, &FittingPanes::arranged, this, &ExploreView::show_choices);
  show_choices();
  return controls;
}

// Choices of a chart that isn't seen would change nothing that is.
void ExploreView::show_choices() {
  const bool points = !panes_->tabbed() || panes_->current() == kPointsPane;
  const bool lines = !panes_->tabbed() || panes_->current() == kLinesPane;
  x_->parentWidget()->setVisible(points);
  y_->parentWidget()->setVisible(points);
  which_->setVisible(lines);
}

void ExploreView::connect_charts() {
  const auto select = [this](int point) {
    session().selection().select_plan(plans_.at(static_cast<std::size_t>(point)));
  };
  connect(axes_, &Chart::activated, this, select);
  connect(scatter_, &Chart::activated, this, select);
  connect(axes_, &ParallelAxes::brushed, this,
          [this](int axis, double low, double high) { brush(columns_.at(static_cast<std::size_t>(axis)), low, high); });
  connect(axes_, &ParallelAxes::brush_removed, this,
          [this](int axis) { session().results().remove_filter(columns_.at(static_cast<std::size_t>(axis))); });
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
  connect(scatter_, &ScatterChart::lassoed, this, &ExploreView::take_lasso);
  const auto tips = [this](int point) { return tip(point); };
  axes_->set_tip(tips);
  scatter_->set_tip(tips);
}

void ExploreView::take_lasso(const QPolygonF& corners) {
  const ScatterPlot& plot = scatter_->plot();
  LassoFilter lasso;
  lasso.x = {chosen(*x_, PlanColumn::kStepTime), plot.x.scale == Scale::kLogarithmic};
  lasso.y = {chosen(*y_, PlanColumn::kMemory), plot.y.scale == Scale::kLogarithmic};
  for (const QPointF& corner : corners) {
    lasso.corners << QPointF(lasso.x.along(corner.x()), lasso.y.along(corner.y()));
  }
  session().results().set_lasso(std::move(lasso));
}

// The lasso that holds, where it was drawn over these results.
QPolygonF ExploreView::lasso_here() const {
  QPolygonF corners;
  const std::optional<LassoFilter>& lasso = session().results().lasso();
  if (lasso && lasso->x.column == chosen(*x_, PlanColumn::kStepTime) &&
      lasso->y.column == chosen(*y_, PlanColumn::kMemory)) {
    for (const QPointF& corner : lasso->corners) {
      corners << QPointF(lasso->x.value(corner.x()), lasso->y.value(corner.y()));
    }
  }
  return corners;
}

PlanColumn ExploreView::chosen(const QComboBox& choice, PlanColumn usual) {
  return choice.currentIndex() < 0 ? usual : static_cast<PlanColumn>(choice.currentData().toInt());
}

void ExploreView::fill(QComboBox& choice, const std::vector<PlanColumn>& columns, PlanColumn usual) {
  const PlanColumn before = chosen(choice, usual);
  choice.clear();
  for (const PlanColumn column : columns) {
    choice.addItem(title_of(column), static_cast<int>(column));
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
                          ? no_plans(session())
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
    ramp_->set_labels({});
    return;
  }
  const PlanColumn shade = chosen(*shade_, PlanColumn::kMfu);
  const std::vector<char> passes = passing();
  ramp_->set_labels(ramp_labels(rows, shade));
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
  scatter_->set_lasso(lasso_here());
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
