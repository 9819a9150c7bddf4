#include "gui/views/timeline_view.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QShowEvent>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/document/write_file.h"
#include "core/error.h"
#include "core/plan/chrome_trace.h"
#include "core/units/format_quantity.h"
#include "gui/paint/chart_export.h"
#include "gui/paint/slice_text.h"
#include "gui/views/no_plans.h"

namespace trainyard::gui {

namespace {

constexpr std::size_t kMostKindsNamed = 5;

QToolButton* button(const QString& text, const QString& tip, QWidget* parent) {
  auto* made = new QToolButton(parent);
  made->setText(text);
  made->setToolTip(tip);
  made->setAccessibleName(tip);
  made->setAutoRaise(true);
  return made;
}

QString percent(Nanoseconds part, Nanoseconds whole) {
  return QStringLiteral("%1 %").arg(whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0, 0,
                                    'f', 1);
}

}  // namespace

TimelineView::TimelineView(Session& session, QWidget* parent)
    : View(QStringLiteral("timeline"), tr("Timeline"), parent), session_(session) {
  timeline_ = new TimelineWidget(this);
  empty_ = new QLabel(this);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setWordWrap(true);
  summary_ = new QLabel(this);
  summary_->setWordWrap(true);
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  legend_ = new KindLegend(this);
  setFocusProxy(timeline_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  column->setSpacing(4);
  column->addWidget(make_tools());
  stack_ = new QStackedLayout;
  stack_->addWidget(empty_);
  stack_->addWidget(timeline_);
  column->addLayout(stack_, 1);
  column->addWidget(legend_);
  column->addWidget(summary_);

  connect(timeline_, &TimelineWidget::slice_selected, this, &TimelineView::write_selection);
  connect(timeline_, &TimelineWidget::area_selected, this, &TimelineView::write_selection);
  connect(timeline_, &TimelineWidget::view_changed, this, [this] {
    if (!timeline_->area()) {
      update_totals();
    }
  });
  connect(timeline_, &TimelineWidget::found_changed, this, &TimelineView::update_found);
  connect(&session.selection(), &Selection::plan_changed, this, &TimelineView::refresh);
  connect(&session.selection(), &Selection::ranks_changed, this, &TimelineView::read_selection);
  connect(&session.selection(), &Selection::time_changed, this, &TimelineView::read_selection);
  connect(&session.analysis(), &Analysis::simulation_changed, this, &TimelineView::refresh);
  connect(&session.results(), &Results::plans_changed, this, &TimelineView::refresh);
  connect(&session.search(), &Search::checked, this, &TimelineView::refresh);
  connect(&session.search(), &Search::running_changed, this, &TimelineView::refresh);
  connect(&session.runs(), &RunList::run_changed, this, &TimelineView::refresh);
  connect(&session.runs(), &RunList::run_added, this, &TimelineView::refresh);
  refresh();
}

QWidget* TimelineView::make_tools() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  search_ = new QLineEdit(bar);
  search_->setPlaceholderText(tr("Find: forward L3 mb2, reduce, rank5"));
  search_->setToolTip(
      tr("Words that must all fit: a kind of work, a part of a layer, L3 for layer 3, mb2 for micro-batch 2, rank5"));
  search_->setAccessibleName(tr("Find slices"));
  search_->setClearButtonEnabled(true);
  search_->setMinimumWidth(120);
  search_->setMaximumWidth(320);
  found_ = new QLabel(bar);
  QToolButton* before = button(tr("◀"), tr("The slice found before"), bar);
  QToolButton* after = button(tr("▶"), tr("The next slice found (Enter)"), bar);
  QToolButton* taller = button(tr("+"), tr("Taller rows (+)"), bar);
  QToolButton* lower = button(tr("−"), tr("Lower rows (-): more of them at once"), bar);
  QToolButton* all = button(tr("Fit"), tr("The whole step (0)"), bar);
  row->addWidget(search_, 1);
  row->addWidget(before);
  row->addWidget(after);
  row->addWidget(found_);
  row->addStretch(1);
  for (QToolButton* tool : {lower, taller, all}) {
    row->addWidget(tool);
  }
  connect(search_, &QLineEdit::textChanged, timeline_, &TimelineWidget::search);
  connect(search_, &QLineEdit::returnPressed, timeline_, [this] { timeline_->go_to_found(1); });
  connect(before, &QToolButton::clicked, timeline_, [this] { timeline_->go_to_found(-1); });
  connect(after, &QToolButton::clicked, timeline_, [this] { timeline_->go_to_found(1); });
  connect(taller, &QToolButton::clicked, timeline_,
          [this] { timeline_->set_row_height(1.25 * timeline_->row_height()); });
  connect(lower, &QToolButton::clicked, timeline_,
          [this] { timeline_->set_row_height(timeline_->row_height() / 1.25); });
  connect(all, &QToolButton::clicked, timeline_, &TimelineWidget::fit_all);
  return bar;
}

void TimelineView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  refresh();
}

void TimelineView::show_message(const QString& text) {
  empty_->setText(text);
  stack_->setCurrentWidget(empty_);
  legend_->setVisible(false);
  summary_->setVisible(false);
  if (shown_ || shown_trace_) {
    shown_.reset();
    shown_trace_.reset();
    timeline_->set_source({});
    totals_.set(nullptr, 0, 0, 0, 0);
  }
}

void TimelineView::refresh() {
  const std::optional<int> plan = session_.selection().plan();
  const PlanRow* row = session_.results().plan(plan);
  if (session_.results().plans().empty()) {
    show_message(no_plans(session_));
    return;
  }
  if (row == nullptr) {
    show_message(tr("No plan selected. Choose one in Plans: its step is simulated and shown here."));
    return;
  }
  if (!row->feasible()) {
    show_message(tr("This layout can't run: %1").arg(QString::fromStdString(row->infeasible->detail)));
    return;
  }
  const Run* run = session_.runs().measured(row->text);
  const auto trace = run == nullptr ? nullptr : run->trace;
  switch (session_.analysis().simulation_state(*plan)) {
    case PartState::kNone:
      show_message(tr("Simulating the step…"));
      if (isVisible()) {
        session_.analysis().request_simulation(*plan);
      }
      return;
    case PartState::kComputing:
      show_message(tr("Simulating the step… (see Jobs)"));
      return;
    case PartState::kFailed:
      show_message(tr("No timeline: %1").arg(session_.analysis().simulation_message(*plan)));
      return;
    case PartState::kReady:
      break;
  }
  const auto simulation = session_.analysis().simulation(*plan);
  if (simulation == shown_ && trace == shown_trace_ && stack_->currentWidget() == timeline_) {
    return;
  }
  shown_ = simulation;
  shown_trace_ = trace;
  TimelineSource source;
  source.program = {simulation, &simulation->simulation.program};
  source.predicted = {simulation, &simulation->simulation.step.trace};
  source.measured = trace;
  show_source(std::move(source));
}

void TimelineView::show_source(TimelineSource source) {
  timeline_->set_source(std::move(source));
  stack_->setCurrentWidget(timeline_);
  legend_->setVisible(true);
  summary_->setVisible(true);
  totals_.set(&timeline_->rows(), 0, timeline_->rows().duration(), 0, timeline_->rows().rows().size());
  legend_->set_kinds(totals_.kinds());
  update_totals();
  read_selection();
}

void TimelineView::say(const QString& text) {
  QString note;
  if (shown_ != nullptr && !shown_->lacks.empty()) {
    note = tr("<br>Doesn't quite fit as a program: %1. Shown is the step it would take.")
               .arg(QString::fromStdString(shown_->lacks).toHtmlEscaped());
  }
  summary_->setText(text + note + beside_formula());
}

// Plans of a cluster are ranked by formula; here is the program, whose step may take another time.
QString TimelineView::beside_formula() const {
  const PlanRow* row = session_.results().plan(session_.selection().plan());
  if (shown_ == nullptr || row == nullptr || !row->ranked) {
    return {};
  }
  const Seconds program = shown_->simulation.estimate.step_time;
  constexpr double kSame = 0.01;
  if (std::abs(program / row->step_time - 1.0) < kSame) {
    return {};
  }
  return tr("<br>Instruction by instruction, on the network, the step takes %1; by the formula that ranks plans %2.")
      .arg(QString::fromStdString(format_quantity(program)), QString::fromStdString(format_quantity(row->step_time)));
}

void TimelineView::update_totals() {
  const TimelineRows& rows = timeline_->rows();
  if (rows.rows().empty()) {
    return;
  }
  const auto& area = timeline_->area();
  const TimeView view = timeline_->view();
  const double begin = std::max(0.0, area ? area->begin : view.begin);
  const double end = std::min(static_cast<double>(rows.duration()), area ? area->end : view.end);
  totals_.set(&rows, static_cast<Nanoseconds>(begin), static_cast<Nanoseconds>(std::max(begin, end)),
              area ? area->first_row : 0, area ? area->last_row : rows.rows().size());
  if (const auto selected = timeline_->selected(); selected && !area) {
    QStringList facts;
    for (const Fact& fact : slice_facts(rows, *selected)) {
      facts << QStringLiteral("%1 %2").arg(QString::fromStdString(fact.name), QString::fromStdString(fact.value));
    }
    say(tr("<b>%1</b>: %2")
            .arg(QString::fromStdString(slice_name(rows.slice(*selected))).toHtmlEscaped(),
                 facts.join(QStringLiteral("; ")).toHtmlEscaped()));
    return;
  }
  const KindTimes sum = totals_.sum();
  std::vector<InstructionKind> kinds = totals_.kinds();
  const auto of = [&](InstructionKind kind) { return sum[static_cast<std::size_t>(kind)]; };
  std::sort(kinds.begin(), kinds.end(), [&](InstructionKind a, InstructionKind b) { return of(a) > of(b); });
  const Nanoseconds total = std::accumulate(sum.begin(), sum.end(), Nanoseconds{0});
  QStringList parts;
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostKindsNamed); ++i) {
    parts << QStringLiteral("%1 %2 (%3)")
                 .arg(QString::fromStdString(kind_name(kinds[i])),
                      QString::fromStdString(time_text(static_cast<double>(of(kinds[i])))),
                      percent(of(kinds[i]), total));
  }
  const int shown = totals_.rowCount();
  say(tr("%1: %2 of the step, %3, in which %4 of work: %5")
          .arg(area ? tr("Area") : tr("In view"),
               QString::fromStdString(time_text(static_cast<double>(totals_.span()))),
               shown == 1 ? tr("1 row") : tr("%1 rows").arg(shown),
               QString::fromStdString(time_text(static_cast<double>(total))),
               parts.isEmpty() ? tr("nothing at work") : parts.join(QStringLiteral(", "))));
}

void TimelineView::update_found() {
  found_->setText(search_->text().trimmed().isEmpty() ? QString() : tr("%1 found").arg(timeline_->found()));
}

void TimelineView::write_selection() {
  update_totals();
  writing_ = true;
  Selection& selection = session_.selection();
  const TimelineRows& rows = timeline_->rows();
  if (const auto& area = timeline_->area()) {
    selection.select_time(TimeSpan{static_cast<Nanoseconds>(area->begin), static_cast<Nanoseconds>(area->end)});
    std::vector<Rank> ranks;
    const bool some = area->first_row > 0 || area->last_row + 1 < rows.rows().size();
    for (std::size_t row = area->first_row; some && row <= area->last_row && row < rows.rows().size(); ++row) {
      const std::vector<Rank> of = rows.ranks(row);
      ranks.insert(ranks.end(), of.begin(), of.end());
    }
    selection.select_ranks(std::move(ranks));
  } else if (const auto slice = timeline_->selected()) {
    const Mark& mark = rows.mark(*slice);
    selection.select_time(TimeSpan{mark.begin, mark.end});
    selection.select_ranks(rows.ranks(slice->row));
  } else {
    selection.select_time(std::nullopt);
    selection.select_ranks({});
  }
  writing_ = false;
  timeline_->mark_ranks(selection.ranks());
}

void TimelineView::read_selection() {
  if (writing_ || timeline_->rows().rows().empty()) {
    return;
  }
  timeline_->mark_ranks(session_.selection().ranks());
  const auto time = session_.selection().time();
  const auto& area = timeline_->area();
  if (!time && !area) {
    return;
  }
  if (!time) {
    writing_ = true;
    timeline_->select_area(std::nullopt);
    writing_ = false;
  } else if (!timeline_->selected() && (!area || static_cast<Nanoseconds>(area->begin) != time->begin ||
                                        static_cast<Nanoseconds>(area->end) != time->end)) {
    TimeArea from_outside;
    from_outside.begin = static_cast<double>(time->begin);
    from_outside.end = static_cast<double>(time->end);
    from_outside.last_row = timeline_->rows().rows().size() - 1;
    writing_ = true;
    timeline_->show_area(from_outside);
    writing_ = false;
    update_totals();
  }
}

void TimelineView::export_svg(const QString& file) {
  if (stack_->currentWidget() != timeline_) {
    View::export_svg(file);
    return;
  }
  write_svg(file, timeline_->viewport()->size(), title(),
            [this](QPainter& painter) { timeline_->paint_to(painter, true); });
}

void TimelineView::export_png(const QString& file) {
  if (stack_->currentWidget() != timeline_) {
    View::export_png(file);
    return;
  }
  write_png(file, timeline_->viewport()->size(), 2.0,
            [this](QPainter& painter) { timeline_->paint_to(painter, true); });
}

void TimelineView::export_chrome_trace(const QString& file) {
  const TimelineSource& source = timeline_->rows().source();
  if (source.empty()) {
    throw Error("nothing to write", "timeline", "select a plan, and wait for its simulation");
  }
  write_file(file.toStdString(), source.predicted && source.measured
                                     ? to_chrome_json(*source.predicted, *source.measured)
                                     : to_chrome_json(source.measured ? *source.measured : *source.predicted));
}

}  // namespace trainyard::gui
