#include "gui/views/memory_view.h"

#include <QComboBox>
#include <QLabel>
#include <QScrollArea>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "core/units/format_quantity.h"
#include "gui/views/no_plans.h"
#include "gui/views/summary_label.h"
#include "simulator/memory/memory_model.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::gui {

namespace {

constexpr int kLeastHeight = 240;

}  // namespace

MemoryView::MemoryView(Session& session, QWidget* parent)
    : RefreshingView(QStringLiteral("memory"), tr("Memory"), session, parent) {
  summary_ = make_summary(this);
  stages_ = new BarRows(tr("Memory by cause and stage, against what a rank has"));
  over_step_ = new AreaChart(tr("Memory by cause over the time of a step"));
  setFocusProxy(stages_);
  roles_ = new QComboBox;
  roles_->setAccessibleName(tr("Stage whose memory is shown"));
  roles_->setToolTip(tr("Ranks whose instructions are equal hold the same; one of them is shown."));
  tabs_ = new QTabWidget(this);
  tabs_->setSizePolicy(QSizePolicy::Expanding,
                       QSizePolicy::Ignored);  // what is left, which a scroll area would make more
  tabs_->setMinimumHeight(kLeastHeight);
  auto* scroll = new QScrollArea;
  scroll->setWidget(stages_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  tabs_->addTab(scroll, tr("By stage"));
  auto* second = new QWidget;
  auto* column = new QVBoxLayout(second);
  column->setContentsMargins(0, 4, 0, 0);
  column->addWidget(roles_, 0, Qt::AlignLeft);
  column->addWidget(over_step_, 1);
  tabs_->addTab(second, tr("Over a step"));
  tabs_->setTabToolTip(1, tr("Of the plan's program, instruction by instruction; drag to select a span of time"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->addWidget(summary_);
  layout->addWidget(tabs_, 1);
  connect(tabs_, &QTabWidget::currentChanged, this, [this] { refresh_later(); });
  connect(roles_, &QComboBox::activated, this, [this] { refresh_later(); });
  connect(&session.analysis(), &Analysis::simulation_changed, this, [this] { refresh_later(); });
  connect(&session.selection(), &Selection::time_changed, this, [this] { take_span(); });
  connect(over_step_, &AreaChart::span_dragged, this, [this](double from, double to) {
    this->session().selection().select_time(
        TimeSpan{to_nanoseconds(from_si<Seconds>(from)), to_nanoseconds(from_si<Seconds>(to))});
  });
  connect(over_step_, &AreaChart::span_cleared, this,
          [this] { this->session().selection().select_time(std::nullopt); });
  refresh_now();
}

QString MemoryView::summary() const { return summary_->text(); }

void MemoryView::show_over_step() { tabs_->setCurrentIndex(1); }

void MemoryView::say_nothing(const QString& why) {
  summary_->clear();
  summary_->hide();
  stages_->set_rows(QString(), Axis(), {});
  stages_->set_limit(std::nullopt, QString());
  stages_->set_legend({});
  stages_->set_empty_text(why);
  over_step_->set_plot({});
  over_step_->set_empty_text(why);
  roles_->hide();
  drawn_.reset();
  table_.set({}, {});
}

std::vector<MemoryStack> MemoryView::stacks_of(const PlanRow& row, ByteCount& capacity) {
  const auto problem = session().analysis().problem();
  std::vector<MemoryStack> stacks;
  if (problem && problem->machine) {
    const simulator::Machine& machine = *problem->machine;
    const simulator::Workload workload{problem->model, problem->training.sequence, problem->training.global_batch};
    const simulator::MemoryModel memory(workload, machine, simulator::memory_habits(machine.stack));
    capacity = memory.available();
    for (const simulator::MemoryPrice& price : memory.stages(row.layout)) {
      stacks.push_back(stack_of(price, row.layout.ranks() / row.layout.pipeline));
    }
    return stacks;
  }
  const int plan = *session().selection().plan();
  session().analysis().request_simulation(plan);
  if (const auto simulated = session().analysis().simulation(plan)) {
    capacity = row.available.value() > 0 ? row.available : session().results().summary().available;
    for (const simulator::RoleMemory& memory : simulated->simulation.memory) {
      stacks.push_back(stack_of(memory, simulated->simulation.program.roles[memory.role.at()].ranks));
    }
  }
  return stacks;
}

void MemoryView::refresh() {
  const Results& results = session().results();
  const PlanRow* row = results.plan(session().selection().plan());
  if (results.plans().empty()) {
    say_nothing(no_plans(session()));
  } else if (row == nullptr) {
    say_nothing(tr("Select a plan in Plans or Explore to see what its ranks hold."));
  } else if (row->infeasible && row->infeasible->reason != InfeasibleReason::kMemory) {
    say_nothing(
        tr("%1 can't run: %2").arg(QString::fromStdString(row->text), QString::fromStdString(row->infeasible->detail)));
  } else {
    show_stages(*row);
    show_step();
  }
}

void MemoryView::show_stages(const PlanRow& row) {
  ByteCount capacity;
  const std::vector<MemoryStack> stacks = stacks_of(row, capacity);
  if (stacks.empty() || capacity.value() <= 0) {
    const QString why = session().analysis().simulation_message(*session().selection().plan());
    say_nothing(why.isEmpty() ? tr("Computing the plan's memory \u2026") : why);
    return;
  }
  const Theme theme = current(palette());
  const MemoryRows rows = memory_rows(stacks, capacity, theme);
  stages_->set_legend(rows.legend);
  stages_->set_rows(QString(), rows.axis, rows.rows);
  const auto limit = static_cast<double>(capacity.value());
  stages_->set_limit(limit <= rows.axis.high ? std::optional(limit) : std::nullopt,
                     tr("capacity %1").arg(QString::fromStdString(format_quantity(capacity))));
  fill_table(table_, stacks, capacity);
  const auto worst = std::max_element(stacks.begin(), stacks.end(),
                                      [](const MemoryStack& a, const MemoryStack& b) { return a.total < b.total; });
  const QString need = QString::fromStdString(format_quantity(worst->total));
  const QString have = QString::fromStdString(format_quantity(capacity));
  const QString name = QString::fromStdString(row.text).toHtmlEscaped();
  summary_->setText(
      row.unfit_as_program
          ? tr("<b>%1</b> doesn't fit as a program: %2. The bars are the formula's, by which the fullest is %3 with %4 "
               "of %5.")
                .arg(name, QString::fromStdString(row.infeasible->detail).toHtmlEscaped(), worst->name, need, have)
      : worst->total > capacity
          ? tr("<b>%1</b> doesn't fit: %2 needs %3 of %4, %5 is missing. Why says what would make it fit.")
                .arg(name, worst->name, need, have, QString::fromStdString(format_quantity(worst->total - capacity)))
          : tr("<b>%1</b>: the fullest is %2 with %3 of %4.").arg(name, worst->name, need, have));
  summary_->show();
}

void MemoryView::show_step() {
  if (tabs_->currentIndex() != 1 || summary_->isHidden()) {
    return;
  }
  const int plan = *session().selection().plan();
  const PlanRow* row = session().results().plan(plan);
  if (row->infeasible) {
    over_step_->set_plot({});
    over_step_->set_empty_text(
        row->unfit_as_program ? tr("A plan that doesn't fit has no step to follow.\nAs a program, %1.")
                                    .arg(QString::fromStdString(row->infeasible->detail))
                              : tr("A plan that doesn't fit has no step to follow. By stage shows what it lacks."));
    roles_->hide();
    return;
  }
  session().analysis().request_simulation(plan);
  const auto simulated = session().analysis().simulation(plan);
  if (!simulated) {
    const QString why = session().analysis().simulation_message(plan);
    over_step_->set_plot({});
    over_step_->set_empty_text(why.isEmpty() ? tr("Simulating the step \u2026") : why);
    roles_->hide();
    drawn_.reset();
    return;
  }
  const simulator::Simulation& simulation = simulated->simulation;
  if (simulated != drawn_) {
    roles_->clear();
    for (const simulator::RoleMemory& memory : simulation.memory) {
      roles_->addItem(tr("stage %1, rank %2: %3")
                          .arg(memory.stage)
                          .arg(memory.representative.value())
                          .arg(QString::fromStdString(format_quantity(memory.total))));
    }
    const auto& worst = simulator::worst(simulation.memory);
    roles_->setCurrentIndex(static_cast<int>(&worst - simulation.memory.data()));
    drawn_ = simulated;
  }
  roles_->show();
  const simulator::RoleMemory& memory =
      simulation.memory.at(static_cast<std::size_t>(std::max(0, roles_->currentIndex())));
  const ByteCount capacity = row->available.value() > 0 ? row->available : session().results().summary().available;
  over_step_->set_plot(memory_plot(simulation.program.roles[memory.role.at()], memory, simulation.step.trace, capacity,
                                   current(palette())));
  take_span();
}

void MemoryView::take_span() {
  const std::optional<TimeSpan> span = session().selection().time();
  over_step_->set_span(span ? std::optional(std::make_pair(to_seconds(span->begin).si(), to_seconds(span->end).si()))
                            : std::nullopt);
}

}  // namespace trainyard::gui
