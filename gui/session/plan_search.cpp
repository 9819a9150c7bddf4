#include "gui/session/plan_search.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/layout/layout_text.h"
#include "core/units/format_quantity.h"
#include "executor/run/cpu_capabilities.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/memory/memory_model.h"
#include "simulator/planner/best_layouts.h"
#include "simulator/planner/goodput.h"
#include "simulator/planner/layout_search.h"
#include "simulator/planner/planner.h"
#include "simulator/planner/program_fit.h"
#include "simulator/planner/search_machine.h"
#include "simulator/planner/stage_split.h"

namespace trainyard::gui {

namespace {

constexpr std::size_t kKept = 400;
constexpr std::size_t kKeptMisses = 200;
constexpr std::size_t kBalanced = 20;     // of the best: layers moved between their stages where that helps
constexpr std::size_t kWithGoodput = 40;  // of the best
constexpr std::size_t kMostUnfit = 40;    // leading layouts that are tried as programs, until one fits
constexpr double kSecondsAnHour = 3600.0;
constexpr double kBillion = 1e9;
constexpr double kArchiveInterval = 7200.0;  // s of work between saves that outlive the newest few, as `reliability`

using simulator::RankedLayout;
using simulator::StepLoss;

Seconds loss_of(const simulator::StepPrice& step, StepLoss loss) { return step.losses[static_cast<std::size_t>(loss)]; }

double tokens_of(const Problem& problem) {
  return static_cast<double>(problem.training.sequence) * static_cast<double>(problem.training.global_batch);
}

void add_rates(const Problem& problem, PlanRow& row) {
  row.tokens_per_second = tokens_of(problem) / row.step_time.si();
  if (problem.study.gpu_hour_price) {
    const double gpu_hours =
        static_cast<double>(problem.study.ranks) * kBillion / row.tokens_per_second / kSecondsAnHour;
    row.cost = gpu_hours * *problem.study.gpu_hour_price;
  }
}

PlanRow row_of(const Problem& problem, const RankedLayout& layout, ByteCount available) {
  PlanRow row;
  row.layout = layout.layout;
  row.text = layout_text(layout.layout);
  row.step_time = layout.step.step_time;
  row.low = layout.step.low;
  row.high = layout.step.high;
  row.mfu = loss_of(layout.step, StepLoss::kIdeal) / layout.step.step_time;
  row.memory = layout.memory.total;
  row.memory_stage = layout.memory.stage;
  row.available = available;
  row.bubble = loss_of(layout.step, StepLoss::kBubble) / row.step_time;
  Seconds exposed;
  for (const StepLoss loss : {StepLoss::kTensor, StepLoss::kContext, StepLoss::kExpert, StepLoss::kTransfer,
                              StepLoss::kGradient, StepLoss::kParameter}) {
    exposed += loss_of(layout.step, loss);
  }
  row.communication = exposed / row.step_time;
  row.ranked = layout;
  add_rates(problem, row);
  return row;
}

PlanRow row_of(const simulator::LayoutMiss& miss, ByteCount available) {
  PlanRow row;
  row.layout = miss.layout;
  row.text = layout_text(miss.layout);
  row.infeasible = exceeds_memory(miss.memory, miss.layout, available);
  row.memory = miss.memory.total;
  row.memory_stage = miss.memory.stage;
  row.available = available;
  row.ranked = RankedLayout{miss.layout, {}, miss.memory, miss.block, miss.variant, miss.ordinal};
  return row;
}

PlanRow row_of(const Layout& example, Infeasible why, std::int64_t count) {
  PlanRow row;
  row.layout = example;
  row.text = layout_text(example);
  if (count > 1) {
    why.detail += " (" + std::to_string(count) + " layouts)";
  }
  row.memory = why.needed.value_or(ByteCount());
  row.available = why.available.value_or(ByteCount());
  row.infeasible = std::move(why);
  return row;
}

simulator::SearchRequest request_of(const Problem& problem) {
  simulator::SearchRequest request;
  request.space.workload = {problem.model, problem.training.sequence, problem.training.global_batch};
  request.machine = *problem.machine;
  request.habits = simulator::memory_habits(request.machine.stack);
  request.space.ranks = problem.study.ranks;
  request.space.ranks_per_node = request.machine.fabric.ranks_per_node.value;
  request.space.base = problem.base;
  request.space.limits.offload = problem.study.limits.offload;
  request.space.limits.selective = request.habits.unfused_attention;
  request.wanted = [&problem](const Layout& layout) { return problem.wanted(layout); };
  request.keep = kKept;
  request.keep_misses = kKeptMisses;
  request.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return request;
}

// The best and the front of time and memory, each once, fastest first.
std::vector<PlanRow> rows_of(const Problem& problem, const std::vector<RankedLayout>& best,
                             const std::vector<RankedLayout>& front, ByteCount available) {
  std::vector<PlanRow> rows;
  for (const RankedLayout& layout : best) {
    rows.push_back(row_of(problem, layout, available));
  }
  const std::size_t ranked = rows.size();
  for (const RankedLayout& layout : front) {
    PlanRow row = row_of(problem, layout, available);
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(ranked);
    if (std::none_of(rows.begin(), end, [&](const PlanRow& other) { return other.text == row.text; })) {
      rows.push_back(std::move(row));
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PlanRow& a, const PlanRow& b) { return a.step_time < b.step_time; });
  return rows;
}

// What leads the ranking must fit as a program too, which is what runs and what the timeline shows. Those before it are
// rows that don't fit, behind the others. Their number.
std::int64_t set_unfit_aside(const Problem& problem, std::vector<PlanRow>& rows, const std::stop_token& stop) {
  simulator::PlannerRequest planned;
  planned.model = problem.model;
  planned.training = problem.training;
  planned.ranks = problem.study.ranks;
  const std::vector<simulator::ProgramFit> unfit = simulator::unfit_ahead(
      std::min(kMostUnfit, rows.size()),
      [&](std::size_t i) { return make_plan(planned, problem.profile, rows[i].layout); }, problem.profile, stop);
  for (std::size_t i = 0; i < unfit.size(); ++i) {
    const auto ranked = rows[i].ranked;
    rows[i] = row_of(rows[i].layout, *unfit[i].lacks, 1);
    rows[i].memory = unfit[i].total;
    rows[i].ranked = ranked;
    rows[i].unfit_as_program = true;
  }
  std::rotate(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(unfit.size()), rows.end());
  return static_cast<std::int64_t>(unfit.size());
}

FoundPlans search_cluster(const Problem& problem, const std::function<void(const SearchReport&)>& report,
                          const std::stop_token& stop) {
  const simulator::SearchRequest request = request_of(problem);
  const simulator::PricerFactory pricers =
      simulator::curve_pricers(request.machine)(request.space.workload, request.machine);
  const simulator::MemoryModel memory(request.space.workload, request.machine, request.habits);
  const auto show = [&](const simulator::SearchProgress& progress) {
    SearchReport so_far;
    so_far.fraction =
        static_cast<double>(progress.blocks_done) / static_cast<double>(std::max<std::int64_t>(1, progress.blocks));
    so_far.text = std::to_string(progress.considered) + " layouts looked at";
    so_far.best = [&] {
      FoundPlans found{rows_of(problem, progress.best->sorted(), {}, memory.available()), {}};
      found.summary.considered = progress.considered;
      found.summary.available = memory.available();
      return found;
    };
    report(so_far);
  };
  simulator::SearchResult result = search_layouts(request, pricers, show, stop);
  const auto pricer = pricers();
  for (std::size_t i = 0; i < std::min(kBalanced, result.best.size()) && !stop.stop_requested(); ++i) {
    result.best[i] = balanced_stages(result.best[i], request.space.workload.model.layers, memory, *pricer);
  }
  FoundPlans found{rows_of(problem, result.best, result.pareto, memory.available()), {}};
  const std::int64_t aside = set_unfit_aside(problem, found.plans, stop);
  for (const simulator::LayoutMiss& miss : result.misses) {
    found.plans.push_back(row_of(miss, memory.available()));
  }
  for (const simulator::ImpossibleDegrees& impossible : result.impossible) {
    found.plans.push_back(
        row_of(impossible.example, {InfeasibleReason::kDivision, impossible.detail, {}, {}}, impossible.count));
  }
  found.summary = {.considered = result.considered,
                   .feasible = result.feasible - aside,
                   .infeasible = result.too_large + aside,
                   .available = memory.available(),
                   .finished = true,
                   .stopped = result.stopped};
  return found;
}

PlanRow row_of(const Problem& problem, const simulator::Estimate& estimate) {
  PlanRow row;
  row.layout = estimate.layout;
  row.text = layout_text(estimate.layout);
  row.step_time = estimate.step_time;
  row.tokens_per_second = estimate.tokens_per_second;
  row.mfu = estimate.mfu;
  row.memory = estimate.memory_peak;
  row.memory_stage = estimate.memory_stage;
  row.available = memory_per_rank(problem.profile, problem.study.ranks);
  row.simulated = estimate.method == simulator::EstimateMethod::kInstructions;
  const simulator::StepParts& parts = estimate.parts;
  const Seconds sum = parts.compute + parts.tensor_exposed + parts.pipeline + parts.gradient_exposed + parts.update;
  if (sum > Seconds()) {
    row.bubble = parts.pipeline / sum;
    row.communication = (parts.tensor_exposed + parts.gradient_exposed) / sum;
  }
  row.estimate = estimate;
  add_rates(problem, row);
  return row;
}

std::vector<PlanRow> rows_of(const Problem& problem, const std::vector<simulator::Estimate>& ranked) {
  std::vector<PlanRow> rows;
  for (const simulator::Estimate& estimate : ranked) {
    rows.push_back(row_of(problem, estimate));
  }
  return rows;
}

FoundPlans search_machine(const Problem& problem, const std::function<void(const SearchReport&)>& report,
                          const std::stop_token& stop) {
  simulator::PlannerRequest request;
  request.model = problem.model;
  request.training = problem.training;
  request.ranks = problem.study.ranks;
  request.base = problem.base;
  request.capabilities = executor::cpu_capabilities();
  request.wanted = [&problem](const Layout& layout) { return problem.wanted(layout); };
  const auto show = [&](const simulator::PlannerProgress& progress) {
    SearchReport so_far;
    so_far.fraction =
        static_cast<double>(progress.priced) / static_cast<double>(std::max<std::int64_t>(1, progress.layouts));
    so_far.text = std::to_string(progress.priced) + " of " + std::to_string(progress.layouts) + " layouts";
    so_far.best = [&] {
      FoundPlans found{rows_of(problem, *progress.ranked), {}};
      std::stable_sort(found.plans.begin(), found.plans.end(),
                       [](const PlanRow& a, const PlanRow& b) { return a.step_time < b.step_time; });
      found.summary.considered = progress.priced;
      return found;
    };
    report(so_far);
  };
  const simulator::PlannerResult result = plan_layouts(request, problem.profile, show, stop);
  FoundPlans found{rows_of(problem, result.ranked), {}};
  found.summary = {.considered = result.considered,
                   .feasible = static_cast<std::int64_t>(result.ranked.size()),
                   .infeasible = result.considered - static_cast<std::int64_t>(result.ranked.size()),
                   .available = memory_per_rank(problem.profile, problem.study.ranks),
                   .finished = true,
                   .stopped = result.stopped};
  for (const simulator::RuledOut& ruled_out : result.ruled_out) {
    found.plans.push_back(row_of(ruled_out.example_layout, ruled_out.example, ruled_out.count));
  }
  return found;
}

}  // namespace

FoundPlans search_plans(const Problem& problem, const std::function<void(const SearchReport&)>& report,
                        const std::stop_token& stop) {
  return problem.on_this_machine() ? search_machine(problem, report, stop) : search_cluster(problem, report, stop);
}

void add_goodput(const Problem& problem, std::vector<PlanRow>& plans, const std::stop_token& stop) {
  if (!problem.machine || !problem.failures) {
    return;
  }
  const simulator::FaultDomains domains =
      problem.cluster ? simulator::FaultDomains(*problem.cluster, problem.study.ranks, *problem.failures)
                      : simulator::FaultDomains(problem.study.ranks, problem.machine->fabric.ranks_per_node.value,
                                                *problem.failures);
  simulator::GoodputRequest request{
      .model = problem.model,
      .training = problem.training,
      .machine = *problem.machine,
      .profile = *problem.failures,
      .domains = domains,
      .front_end = problem.cluster ? simulator::front_end(*problem.cluster) : simulator::FrontEnd(),
      .policy = problem.recovery,
      .checkpoint = problem.checkpoint,
      .overrides = {}};
  request.overrides.archive_interval = from_si<Seconds>(kArchiveInterval);
  request.overrides.mean_time_between_failures = problem.mean_time_between_failures;
  std::size_t priced = 0;
  for (PlanRow& row : plans) {
    if (!row.feasible() || priced++ == kWithGoodput || stop.stop_requested()) {
      return;
    }
    const simulator::GoodputLayout found = simulator::rank_by_goodput({*row.ranked}, request).front();
    if (found.goodput > 0.0) {
      row.goodput = found.goodput;
      row.tokens_per_day = found.tokens_per_day;
    }
  }
}

}  // namespace trainyard::gui
