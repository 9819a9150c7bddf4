#include "gui/views/reliability_view.h"

#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include "core/plan/recovery_policy.h"
#include "core/units/format_quantity.h"
#include "gui/views/reliability_plots.h"

namespace trainyard::gui {

namespace {

QString words(std::string_view name) {
  QString text = QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
  return text.replace(QLatin1Char('_'), QLatin1Char(' '));
}

}  // namespace

ReliabilityView::ReliabilityView(Session& session, QWidget* parent)
    : RefreshingView(QStringLiteral("reliability"), tr("Reliability"), session, parent) {
  summary_ = new QLabel(this);
  summary_->setWordWrap(true);
  summary_->setToolTip(QString::fromUtf8(simulator::kGoodputDefinition));
  waste_ = new BarRows(tr("What the wall clock goes to, down to goodput"));
  intervals_ = new LineChart(tr("Goodput by interval between saves"));
  scales_ = new LineChart(tr("Mean time between failures by ranks"));
  spread_ = new BarRows(tr("Time to the plan's last step over simulated runs"));
  month_ = new LineChart(tr("One simulated month: work done, and what the time goes to"));
  auto* inside = new QWidget;
  auto* grid = new QGridLayout(inside);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setSpacing(2);
  grid->addWidget(waste_, 0, 0);
  grid->addWidget(intervals_, 0, 1);
  grid->addWidget(scales_, 1, 0);
  grid->addWidget(spread_, 1, 1);
  grid->addWidget(month_, 2, 0, 1, 2);
  for (int row = 0; row < 3; ++row) {
    grid->setRowStretch(row, 1);
  }
  grid->setColumnStretch(0, 1);
  grid->setColumnStretch(1, 1);
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(inside);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->addWidget(summary_);
  layout->addWidget(scroll, 1);
  connect(&session.reliability(), &ReliabilityStudies::changed, this, [this] { refresh_later(); });
  refresh_now();
}

QString ReliabilityView::summary() const { return summary_->text(); }

void ReliabilityView::say_nothing(const QString& why) {
  summary_->setText(why);
  for (LineChart* chart : {intervals_, scales_, month_}) {
    chart->set_plot({});
    chart->set_empty_text(why);
  }
  for (BarRows* chart : {spread_, waste_}) {
    chart->set_rows(QString(), Axis(), {});
    chart->set_empty_text(why);
  }
  table_.set({}, {});
}

void ReliabilityView::refresh() {
  const Results& results = session().results();
  const std::optional<int> plan = session().selection().plan();
  const PlanRow* row = results.plan(plan);
  if (results.plans().empty()) {
    say_nothing(tr("No plans yet. Choose a model and a cluster in Inputs, then search."));
    return;
  }
  if (row == nullptr) {
    say_nothing(tr("Select a plan in Plans or Explore to see what failures leave of it."));
    return;
  }
  if (!results.summary().finished && !session().reliability().study(*plan)) {
    say_nothing(tr("The search is under way \u2026"));
    return;
  }
  // What is quick first, so that something is there while runs are simulated.
  session().reliability().request(*plan, false);
  const auto study = session().reliability().study(*plan);
  if (study) {
    session().reliability().request(*plan, true);
    show_study(*row, *study);
  } else if (session().reliability().state(*plan, false) == PartState::kFailed) {
    say_nothing(session().reliability().message(*plan));
  } else {
    say_nothing(tr("Computing what failures leave of the plan \u2026"));
  }
}

void ReliabilityView::show_study(const PlanRow& row, const simulator::ReliabilityStudy& study) {
  const Theme theme = current(palette());
  const auto problem = session().analysis().problem();
  const simulator::Reliability& found = study.reliability;
  QString text =
      tr("<b>%1</b> under %2, %3: a failure every %4 on average, goodput %5 (90 % range of the inputs: %6 to %7).")
          .arg(QString::fromStdString(row.text).toHtmlEscaped(),
               QString::fromStdString(problem->failures->name).toHtmlEscaped(),
               words(to_string(study.resolved.job.policy.kind)), QString::fromStdString(format_quantity(found.mttf)),
               with_unit(found.goodput, Unit::kShare), with_unit(study.range.low, Unit::kShare),
               with_unit(study.range.high, Unit::kShare));
  if (found.no_progress) {
    text += QStringLiteral(" <b>%1</b>").arg(QString::fromStdString(*found.no_progress).toHtmlEscaped());
  }
  summary_->setText(text);
  const WaterfallRows waste = waste_rows(study, theme);
  waste_->set_rows(tr("What the wall clock goes to"), waste.axis, waste.rows);
  intervals_->set_plot(interval_plot(study, theme));
  intervals_->set_empty_text(tr("This job's saves have no interval to choose."));
  scales_->set_plot(scale_plot(study, *problem->failures, row.layout.ranks(), theme));
  scales_->set_empty_text(tr("Under this profile nothing fails at some of the scales."));
  const int plan = *session().selection().plan();
  const QString waiting = session().reliability().state(plan, true) == PartState::kFailed
                              ? session().reliability().message(plan)
                              : tr("Simulating runs \u2026");
  const SpreadRows spread = spread_rows(study, theme);
  spread_->set_rows(tr("Time to the plan's last step, %1").arg(spread.note), spread.axis, spread.rows);
  spread_->set_empty_text(study.simulated ? tr("No simulated run has finished: %1").arg(spread.note) : waiting);
  month_->set_plot(month_plot(study, theme));
  month_->set_empty_text(waiting);
  fill_table(table_, study);
}

}  // namespace trainyard::gui
