#include "gui/views/reliability_view.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <cmath>

#include "core/plan/recovery_policy.h"
#include "core/units/format_quantity.h"
#include "gui/views/fitting_panes.h"
#include "gui/views/no_plans.h"
#include "gui/views/reliability_plots.h"
#include "gui/views/summary_label.h"

namespace trainyard::gui {

namespace {

constexpr QSize kComfortable(600, 210);  // of a row of charts
constexpr const char* kAssumedTime = "1 h";
constexpr double kSeen = 0.0005;  // of a share, with one digit behind the point of its percents

QWidget* beside(QWidget* left, QWidget* right) {
  auto* both = new QWidget;
  auto* line = new QHBoxLayout(both);
  line->setContentsMargins(0, 0, 0, 0);
  line->setSpacing(2);
  line->addWidget(left, 1);
  line->addWidget(right, 1);
  return both;
}

QString words(std::string_view name) {
  QString text = QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
  return text.replace(QLatin1Char('_'), QLatin1Char(' '));
}

}  // namespace

ReliabilityView::ReliabilityView(Session& session, QWidget* parent)
    : RefreshingView(QStringLiteral("reliability"), tr("Reliability"), session, parent) {
  summary_ = make_summary(this);
  summary_->setToolTip(QString::fromUtf8(simulator::kGoodputDefinition));
  waste_ = new BarRows(tr("What the wall clock goes to, down to goodput"));
  intervals_ = new LineChart(tr("Goodput by interval between saves"));
  scales_ = new LineChart(tr("Mean time between failures by ranks"));
  spread_ = new BarRows(tr("Time to the plan's last step over simulated runs"));
  month_ = new LineChart(tr("One simulated month: work done, and what the time goes to"));
  setFocusProxy(waste_);
  assume_ = new QPushButton(this);
  assume_->hide();
  panes_ = new FittingPanes(this);
  panes_->add_pane(beside(waste_, intervals_), tr("Goodput"),
                   tr("What the wall clock goes to, and goodput by the interval between saves"), kComfortable);
  panes_->add_pane(beside(scales_, spread_), tr("Scale and spread"),
                   tr("How often more ranks fail, and how far apart simulated runs end"), kComfortable);
  panes_->add_pane(month_, tr("One month"), tr("One simulated month: work done, and each stop"), kComfortable);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->addWidget(summary_);
  layout->addWidget(assume_, 0, Qt::AlignLeft);
  layout->addWidget(panes_, 1);
  connect(assume_, &QPushButton::clicked, this, &ReliabilityView::take_assumption);
  connect(&session.reliability(), &ReliabilityStudies::changed, this, [this] { refresh_later(); });
  refresh_now();
}

QString ReliabilityView::summary() const { return summary_->text(); }

// The input that lacks: of a cluster a profile, of this machine, which no profile is of, a time.
void ReliabilityView::offer_assumption() {
  const auto problem = session().analysis().problem();
  if (problem && !problem->failures) {
    assume_->setText(problem->on_this_machine()
                         ? tr("Assume a failure every %1").arg(QLatin1String(kAssumedTime))
                         : tr("Assume failures as in %1").arg(QString::fromStdString(Study().failures)));
    assume_->setToolTip(tr("Fills the field in Inputs; undo takes it back"));
    assume_->show();
  }
}

void ReliabilityView::take_assumption() {
  const auto problem = session().analysis().problem();
  if (!problem) {
    return;
  }
  if (problem->on_this_machine()) {
    session().document().edit(Field::kFailureTime, tr("assume a time between failures"),
                              [](Study& study) { study.mean_time_between_failures = kAssumedTime; });
  } else {
    session().document().edit(Field::kFailures, tr("assume a failure profile"),
                              [](Study& study) { study.failures = Study().failures; });
  }
}

void ReliabilityView::say_nothing(const QString& why) {
  assume_->hide();
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
    say_nothing(no_plans(session()));
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
    offer_assumption();
  } else {
    say_nothing(tr("Computing what failures leave of the plan \u2026"));
  }
}

void ReliabilityView::show_study(const PlanRow& row, const simulator::ReliabilityStudy& study) {
  assume_->hide();
  const Theme theme = current(palette());
  const auto problem = session().analysis().problem();
  const simulator::Reliability& found = study.reliability;
  QString text =
      tr("<b>%1</b> under %2, %3: a failure every %4 on average, goodput %5 (90 % range of the inputs: %6 to %7).")
          .arg(QString::fromStdString(row.text).toHtmlEscaped(),
               problem->mean_time_between_failures ? tr("failures as Inputs say")
                                                   : QString::fromStdString(problem->failures->name).toHtmlEscaped(),
               words(to_string(study.resolved.job.policy.kind)), QString::fromStdString(format_quantity(found.mttf)),
               with_unit(found.goodput, Unit::kShare), with_unit(study.range.low, Unit::kShare),
               with_unit(study.range.high, Unit::kShare));
  if (row.goodput && std::abs(*row.goodput - found.goodput) >= kSeen) {
    text += tr(" With the spare nodes, timeouts and detectors that are advised, as Plans has it, %1.")
                .arg(with_unit(*row.goodput, Unit::kShare));
  }
  if (found.no_progress) {
    text += QStringLiteral(" <b>%1</b>").arg(QString::fromStdString(*found.no_progress).toHtmlEscaped());
  }
  summary_->setText(text);
  const WaterfallRows waste = waste_rows(study, theme);
  waste_->set_rows(tr("What the wall clock goes to"), waste.axis, waste.rows);
  intervals_->set_plot(interval_plot(study, theme));
  intervals_->set_empty_text(tr("This job's saves have no interval to choose."));
  scales_->set_plot(scale_plot(study, row.layout.ranks(), theme));
  scales_->set_empty_text(study.scales.empty()
                              ? tr("Other scales are answered for clusters: this machine has no more ranks.")
                              : tr("Under this profile nothing fails at some of the scales."));
  const int plan = *session().selection().plan();
  const QString waiting = session().reliability().state(plan, true) == PartState::kFailed
                              ? session().reliability().message(plan)
                              : tr("Simulating runs \u2026");
  const SpreadRows spread = spread_rows(study, theme);
  spread_->set_rows(tr("Time to the last step, %1").arg(spread.note), spread.axis, spread.rows);
  spread_->set_empty_text(study.simulated ? tr("No simulated run has finished: %1").arg(spread.note) : waiting);
  month_->set_plot(month_plot(study, theme));
  month_->set_empty_text(waiting);
  fill_table(table_, study);
}

}  // namespace trainyard::gui
