#include "gui/views/why_view.h"

#include <QEvent>
#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "core/layout/layout_text.h"
#include "core/units/format_quantity.h"
#include "gui/views/fitting_panes.h"
#include "gui/views/no_plans.h"
#include "gui/views/summary_label.h"
#include "gui/views/term_explanations.h"
#include "simulator/memory/memory_model.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::gui {

namespace {

// Of a chart beside another: the waterfall has more rows.
constexpr QSize kWaterfallSize(420, 340);
constexpr QSize kDifferenceSize(420, 260);

QScrollArea* scrolled(QWidget* inside) {
  auto* area = new QScrollArea;
  area->setWidget(inside);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  return area;
}

// As many rows as there is room for; all where nobody sees them.
int rows_for(const BarRows& chart, const QScrollArea& area) {
  return area.isVisible() ? chart.rows_within(area.viewport()->height()) : kAllRows;
}

QString b_against_a(const simulator::GoodputWaterfall& a, const simulator::GoodputWaterfall& b) {
  constexpr double kSame = 0.0005;  // written as 0 %
  const double change = b.wall / a.wall - 1.0;
  if (std::abs(change) < kSame) {
    return QObject::tr("B is as fast as A.");
  }
  return QObject::tr("B against A: %1 %2.")
      .arg(with_unit(std::abs(change), Unit::kShare), change > 0.0 ? QObject::tr("slower") : QObject::tr("faster"));
}

// The cheapest change that makes a layout fit, of a cluster of published numbers.
std::optional<simulator::FittingChange> advice_for(const Problem& problem, const Layout& layout) {
  const simulator::Machine& machine = *problem.machine;
  const simulator::Workload workload{problem.model, problem.training.sequence, problem.training.global_batch};
  const simulator::MemoryModel memory(workload, machine, simulator::memory_habits(machine.stack));
  const auto pricer = simulator::curve_pricers(machine)(workload, machine)();
  return simulator::cheapest_fit(memory, *pricer, workload, layout);
}

}  // namespace

WhyView::WhyView(Session& session, QWidget* parent)
    : RefreshingView(QStringLiteral("why"), tr("Why"), session, parent) {
  summary_ = make_summary(this);
  summary_->setToolTip(QString::fromUtf8(simulator::kGoodputDefinition));
  waterfall_ = new BarRows(tr("Where the wall clock of a useful step goes"));
  difference_ = new BarRows(tr("Differences between two plans, the largest first"));
  explanation_ = new QTextBrowser(this);
  explanation_->setAccessibleName(tr("Equation, numbers and source of the chosen part"));
  explanation_->setMinimumWidth(180);
  panes_ = new FittingPanes;
  waterfall_area_ = scrolled(waterfall_);
  difference_area_ = scrolled(difference_);
  panes_->add_pane(waterfall_area_, tr("Where the time goes"), tr("From the peak to what failures leave"),
                   kWaterfallSize);
  difference_pane_ = panes_->add_pane(difference_area_, tr("What differs"),
                                      tr("The differences of the two plans, the largest first"), kDifferenceSize);
  for (QScrollArea* area : {waterfall_area_, difference_area_}) {
    area->viewport()->installEventFilter(this);
  }
  auto* both = new QSplitter(Qt::Horizontal, this);
  both->addWidget(panes_);
  both->addWidget(explanation_);
  both->setStretchFactor(0, 5);
  both->setStretchFactor(1, 2);
  both->setSizes({620, 300});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->addWidget(summary_);
  layout->addWidget(both, 1);
  setFocusProxy(waterfall_);
  connect(waterfall_, &Chart::activated, this, &WhyView::explain);
  connect(difference_, &Chart::activated, this, &WhyView::explain);
  const auto later = [this] { refresh_later(); };
  connect(&session.analysis(), &Analysis::simulation_changed, this, later);
  connect(&session.reliability(), &ReliabilityStudies::changed, this, later);
  refresh_now();
}

QString WhyView::summary() const { return summary_->text(); }
QString WhyView::explanation() const { return explanation_->toPlainText(); }

void WhyView::say_nothing(const QString& why) {
  shown_.clear();
  summary_->setText(why);
  for (BarRows* chart : {waterfall_, difference_}) {
    chart->set_rows(QString(), Axis(), {});
    chart->set_legend({});
    chart->set_line_names({});
    chart->set_empty_text(why);
  }
  panes_->set_pane_shown(difference_pane_, false);
  explanation_->setHtml(tr("<p>Click a bar: its equation, its numbers with units, and their source.</p>"));
  table_.set({}, {});
}

std::optional<WhyView::Shown> WhyView::shown_of(int plan, const QString& name) {
  const PlanRow* row = session().results().plan(plan);
  if (row == nullptr || !row->feasible() || !session().analysis().problem()) {
    return std::nullopt;
  }
  Shown shown{plan, {name, {}}, nullptr};
  if (session().results().summary().finished) {  // not of each that is best for a moment
    session().reliability().request(plan, false);
  }
  shown.reliability = session().reliability().study(plan);
  const simulator::TimeUses* shares = shown.reliability ? &shown.reliability->reliability.shares : nullptr;
  if (row->ranked) {
    shown.named.waterfall = simulator::goodput_waterfall(row->ranked->step.losses, shares);
    return shown;
  }
  session().analysis().request_simulation(plan);
  const auto simulation = session().analysis().simulation(plan);
  if (!simulation || !simulation->waterfall) {
    return std::nullopt;
  }
  shown.named.waterfall = simulator::goodput_waterfall(simulation->waterfall->losses, shares);
  return shown;
}

void WhyView::refresh() {
  const Selection& selection = session().selection();
  const Results& results = session().results();
  if (results.plans().empty()) {
    say_nothing(no_plans(session()));
    return;
  }
  const PlanRow* row = results.plan(selection.plan());
  const bool compared = results.plan(selection.plan_a()) != nullptr && results.plan(selection.plan_b()) != nullptr;
  if (row == nullptr && !compared) {
    say_nothing(tr("Select a plan in Plans or Explore; mark two as A and B to compare them."));
    return;
  }
  if (row != nullptr && !row->feasible() && !compared) {
    show_infeasible(*row);
    return;
  }
  std::vector<Shown> shown;
  const auto add = [&](std::optional<int> plan, const QString& name) {
    if (std::optional<Shown> one = plan ? shown_of(*plan, name) : std::nullopt) {
      shown.push_back(std::move(*one));
    }
  };
  if (compared) {
    add(selection.plan_a(), QStringLiteral("A"));
    add(selection.plan_b(), QStringLiteral("B"));
  } else {
    const bool best = *selection.plan() == 0;
    if (!best) {
      add(0, tr("best"));
    }
    add(selection.plan(), best ? QString() : tr("this"));
  }
  if (shown.empty()) {
    const int plan = selection.plan().value_or(selection.plan_a().value_or(0));
    const QString why = session().analysis().simulation_message(plan);
    say_nothing(why.isEmpty() ? tr("Computing where the time goes \u2026") : why);
    return;
  }
  shown_ = std::move(shown);
  show_waterfalls();
}

void WhyView::show_waterfalls() {
  const Theme theme = current(palette());
  std::vector<NamedWaterfall> named;
  for (const Shown& shown : shown_) {
    named.push_back(shown.named);
  }
  const bool two = named.size() == 2;
  waterfall_->set_legend(waterfall_legend(theme));
  waterfall_->set_line_names(
      two ? std::vector<QString>{tr("%1 (above)").arg(named[0].name), tr("%1 (below)").arg(named[1].name)}
          : std::vector<QString>());
  const WaterfallRows rows = waterfall_rows(named, theme, rows_for(*waterfall_, *waterfall_area_));
  waterfall_->set_rows(QString(), rows.axis, rows.rows);
  small_parts_ = rows.gathered;
  small_differences_.clear();
  panes_->set_pane_shown(difference_pane_, two);
  if (two) {
    const QString title = tr("%1 against %2, the largest difference first").arg(named[1].name, named[0].name);
    difference_->set_rows(title, Axis(), {});
    const WaterfallRows changes = difference_rows(named[0], named[1], theme, rows_for(*difference_, *difference_area_));
    difference_->set_rows(title, changes.axis, changes.rows);
    small_differences_ = changes.gathered;
  }
  fill_table(table_, named);
  const simulator::GoodputWaterfall& last = named.back().waterfall;
  const PlanRow* row = session().results().plan(shown_.back().plan);
  QString text = tr("<b>%1</b>: %2 of the accelerators' peak trains the model")
                     .arg(QString::fromStdString(row->text).toHtmlEscaped(),
                          with_unit(last.of(simulator::StepLoss::kIdeal) / last.wall, Unit::kShare));
  if (shown_.back().reliability) {
    text += tr(": %1 in a step (MFU), of which failures leave %2 (goodput)")
                .arg(with_unit(last.of(simulator::StepLoss::kIdeal) / last.step, Unit::kShare),
                     with_unit(last.goodput, Unit::kShare));
  } else if (session().reliability().state(shown_.back().plan, false) == PartState::kComputing) {
    text += tr("; what failures leave is being computed \u2026");
  }
  if (!text.endsWith(QChar(0x2026))) {
    text += QLatin1Char('.');
  }
  if (two) {
    const bool ab = named[0].name == QStringLiteral("A");
    text += QStringLiteral(" ") + (ab ? b_against_a(named[0].waterfall, last) : why_slower(named[0].waterfall, last));
  }
  summary_->setText(text);
  explain(explained_);
}

bool WhyView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && !shown_.empty()) {
    refresh_later();  // another number of rows fits
  }
  return RefreshingView::eventFilter(watched, event);
}

// What a row of small parts or differences gathers, one by one.
void WhyView::explain_rest(const QString& title, const std::vector<simulator::WaterfallCause>& gathered) {
  std::vector<NamedWaterfall> named;
  QString head = tr("<tr><td></td>");
  for (const Shown& shown : shown_) {
    named.push_back(shown.named);
    head += QStringLiteral("<td align=right><b>%1</b></td>").arg(shown.named.name.toHtmlEscaped());
  }
  QString html = tr("<h3>%1</h3><p>Each has a row of its own in a taller dock.</p>").arg(title) +
                 QStringLiteral("<table cellpadding=2>") + head + QStringLiteral("</tr>");
  for (const simulator::WaterfallCause& cause : gathered) {
    html += QStringLiteral("<tr><td>%1&nbsp;</td>").arg(explanation_of(cause).name.toHtmlEscaped());
    for (const NamedWaterfall& one : named) {
      html += QStringLiteral("<td align=right>%1&nbsp;</td>")
                  .arg(QString::fromStdString(format_quantity(one.waterfall.of(cause))));
    }
    html += QStringLiteral("</tr>");
  }
  explanation_->setHtml(html + QStringLiteral("</table>"));
}

void WhyView::show_infeasible(const PlanRow& row) {
  const QString reason = QString::fromStdString(row.infeasible->detail);
  say_nothing(
      tr("<b>%1</b> can't run: %2.").arg(QString::fromStdString(row.text).toHtmlEscaped(), reason.toHtmlEscaped()));
  if (row.unfit_as_program) {  // a formula's advice may not fit as a program either
    waterfall_->set_empty_text(tr("A plan that can't run has no step to take apart."));
    summary_->setText(summary_->text() + QStringLiteral("<br>") +
                      tr("By formula it fits; the program, which is what runs, needs more. Take another plan."));
    return;
  }
  waterfall_->set_empty_text(tr("A plan that can't run has no step to take apart.\nMemory shows what it lacks."));
  const auto problem = session().analysis().problem();
  if (row.infeasible->reason != InfeasibleReason::kMemory || !problem || !problem->machine) {
    return;
  }
  if (advised_ != row.text) {
    advised_ = row.text;
    advice_.reset();
    using Advice = std::optional<simulator::FittingChange>;
    session().jobs().start<Advice>(
        this, tr("What would make %1 fit").arg(QString::fromStdString(row.text)),
        [problem, layout = row.layout](JobContext&) { return advice_for(*problem, layout); },
        [this, text = row.text](Advice advice) {
          if (advised_ == text) {
            advice_ = std::move(advice);
            refresh_later();
          }
        });
  }
  QString text = summary_->text() + QStringLiteral("<br>");
  if (!advice_) {
    text += tr("Looking for the cheapest change that makes it fit \u2026");
  } else if (*advice_) {
    text += tr("It would fit with <b>%1</b>: %2, %3 a step.")
                .arg(QString::fromStdString((*advice_)->change).toHtmlEscaped(),
                     QString::fromStdString(layout_text((*advice_)->result.layout)).toHtmlEscaped(),
                     QString::fromStdString(format_quantity((*advice_)->result.step.step_time)));
  } else {
    text += tr("No one or two changes would make it fit.");
  }
  summary_->setText(text);
}

void WhyView::explain(int id) {
  const auto problem = session().analysis().problem();
  if (shown_.empty() || !problem) {
    return;
  }
  const bool gone = (id == kRestId && small_parts_.empty()) || (id == kRestDifferenceId && small_differences_.empty());
  id = gone ? -1 : id;  // each has its own row by now
  explained_ = id;
  waterfall_->set_selected(id);
  difference_->set_selected(id);
  if (id < 0) {
    explanation_->setHtml(tr("<p>Click a bar: its equation, its numbers with units, and their source.</p>"));
    return;
  }
  if (id == kRestId) {
    explain_rest(tr("Smaller parts"), small_parts_);
    return;
  }
  if (id == kRestDifferenceId) {
    explain_rest(tr("Smaller differences"), small_differences_);
    return;
  }
  if (id == kWholeId) {
    explanation_->setHtml(
        tr("<h3>Wall clock of a useful step</h3><p>The sum of all bars: the step's own parts, and for "
           "each step that is in the final model its share of what failures waste.</p>"
           "<p><code>step / goodput</code></p><p>%1.</p>")
            .arg(QString::fromUtf8(simulator::kGoodputDefinition)));
    return;
  }
  const simulator::WaterfallCause cause = cause_of(id);
  QString html;
  for (const Shown& shown : shown_) {
    const PlanRow* row = session().results().plan(shown.plan);
    if (row == nullptr) {
      continue;
    }
    const TermContext context{*problem, *row, shown.named.waterfall, shown.reliability.get()};
    Explanation explanation = explanation_of(cause);
    if (!html.isEmpty()) {  // once is enough
      explanation.meaning.clear();
      explanation.formula.clear();
      explanation.source.clear();
    }
    if (shown_.size() > 1) {
      explanation.name += QStringLiteral(" (%1)").arg(shown.named.name);
    }
    html += explanation_html(explanation, numbers_of(cause, context));
  }
  explanation_->setHtml(html);
}

}  // namespace trainyard::gui
