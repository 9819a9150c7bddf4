#include "gui/session/analysis.h"

#include <utility>
#include <variant>

#include "core/error.h"
#include "simulator/collective/collective_models.h"
#include "simulator/collective/flow_group_cost.h"
#include "simulator/compute/kernel_cost.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::gui {

namespace {

constexpr int kSeeds = 5;  // of hash routing, as the command line has it

[[noreturn]] void refuse(const Infeasible& infeasible) {
  throw Error("doesn't fit as a program: " + infeasible.detail, "simulation", "another plan of the table");
}

// Memory by formula and as a program differ by some per cent: a step of a plan at the edge is shown all the same.
simulator::Machine with_room(simulator::Machine machine) {
  constexpr std::int64_t kTimes = 4;
  ByteCount& memory = machine.accelerator.memory.value;
  memory = ByteCount(kTimes * memory.value());
  return machine;
}

std::variant<simulator::ClusterSimulation, Infeasible> on_cluster(const Problem& problem, const Plan& plan,
                                                                  const simulator::Machine& machine) {
  constexpr auto kDetail = simulator::TraceDetail::kSlices;
  if (!problem.cluster) {
    return simulator::simulate_on_curves(plan, machine, *simulator::curve_groups(machine, machine), kDetail);
  }
  simulator::FlowGroupOptions options = simulator::usual_flow_options(*problem.cluster);
  options.seeds = options.routing.kind == simulator::RoutingKind::kHash ? kSeeds : 1;
  const simulator::FlowGroupCost groups(*problem.cluster, plan.layout.ranks(), simulator::shipped_collective_models(),
                                        options);
  return simulator::simulate_on_cluster(plan, machine, groups, kDetail);
}

}  // namespace

std::shared_ptr<const PlanSimulation> simulate(const Problem& problem, const Layout& layout) {
  auto result = std::make_shared<PlanSimulation>();
  result->plan = problem.plan_of(layout);
  if (problem.on_this_machine()) {
    auto outcome = simulator::simulate_plan(result->plan, problem.profile, simulator::TraceDetail::kSlices);
    if (const Infeasible* infeasible = std::get_if<Infeasible>(&outcome)) {
      refuse(*infeasible);
    }
    result->simulation = std::get<simulator::Simulation>(std::move(outcome));
    result->low = result->high = result->simulation.estimate.step_time;
    const std::int64_t per_node = simulator::ranks_per_node(problem.profile, layout.ranks());
    result->waterfall = simulator::waterfall(result->simulation.program, result->plan, result->simulation.costs,
                                             *simulator::kernel_cost(problem.profile, per_node),
                                             peak_rate(problem.profile, layout.compute_type, per_node));
    return result;
  }
  auto outcome = on_cluster(problem, result->plan, *problem.machine);
  if (const Infeasible* infeasible = std::get_if<Infeasible>(&outcome)) {
    const Infeasible lacks = *infeasible;
    result->lacks = lacks.detail;
    outcome = on_cluster(problem, result->plan, with_room(*problem.machine));
    if (std::holds_alternative<Infeasible>(outcome)) {
      refuse(lacks);
    }
  }
  auto& simulated = std::get<simulator::ClusterSimulation>(outcome);
  result->simulation = std::move(simulated.simulation);
  result->waterfall = simulated.waterfall;
  result->spread = simulated.spread;
  result->low = simulated.low;
  result->high = simulated.high;
  result->notes = std::move(simulated.notes);
  return result;
}

Analysis::Analysis(JobQueue& jobs, const Results& results, QObject* parent)
    : QObject(parent), jobs_(jobs), results_(results) {
  connect(&jobs, &JobQueue::job_changed, this, &Analysis::forget_cancelled);
}

void Analysis::set_problem(std::shared_ptr<const Problem> problem) {
  if (problem == problem_) {
    return;
  }
  for (const auto& [job, text] : std::exchange(running_, {})) {
    jobs_.cancel(job);
  }
  parts_.clear();
  problem_ = std::move(problem);
  Q_EMIT problem_changed();
  Q_EMIT simulation_changed();
}

void Analysis::request_simulation(int plan) {
  const PlanRow* row = results_.plan(plan);
  if (row == nullptr || !row->feasible() || !problem_ || simulation_state(plan) != PartState::kNone) {
    return;
  }
  parts_[row->text].state = PartState::kComputing;
  const auto failed = [this, text = row->text](const Failure& failure) {
    parts_[text].state = PartState::kFailed;
    parts_[text].message = failure.text();
    Q_EMIT simulation_changed();
  };
  const JobId job = jobs_.start<std::shared_ptr<const PlanSimulation>>(
      this, tr("Simulating %1").arg(QString::fromStdString(row->text)),
      [problem = problem_, layout = row->layout](JobContext&) { return simulate(*problem, layout); },
      [this, text = row->text](std::shared_ptr<const PlanSimulation> simulation) {
        parts_[text] = {PartState::kReady, std::move(simulation), {}};
        Q_EMIT simulation_changed();
      },
      failed);
  running_[job] = row->text;
  Q_EMIT simulation_changed();
}

// Neither done nor failed is called of a job that somebody cancels: the views must not wait for it.
void Analysis::forget_cancelled(int job) {
  const JobInfo& info = jobs_.jobs().at(static_cast<std::size_t>(job));
  const auto found = running_.find(info.id);
  if (info.state != JobState::kCancelled || found == running_.end()) {
    return;
  }
  Part& part = parts_[found->second];
  part.state = PartState::kFailed;
  part.message = tr("Cancelled in Jobs; a change of the inputs computes it anew.");
  running_.erase(found);
  Q_EMIT simulation_changed();
}

const Analysis::Part* Analysis::part_of(int plan) const {
  const PlanRow* row = results_.plan(plan);
  const auto found = row == nullptr ? parts_.end() : parts_.find(row->text);
  return found == parts_.end() ? nullptr : &found->second;
}

PartState Analysis::simulation_state(int plan) const {
  const Part* part = part_of(plan);
  return part == nullptr ? PartState::kNone : part->state;
}

std::shared_ptr<const PlanSimulation> Analysis::simulation(int plan) const {
  const Part* part = part_of(plan);
  return part == nullptr ? nullptr : part->simulation;
}

QString Analysis::simulation_message(int plan) const {
  const Part* part = part_of(plan);
  return part == nullptr ? QString() : part->message;
}

}  // namespace trainyard::gui
