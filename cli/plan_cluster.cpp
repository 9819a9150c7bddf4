#include "cli/plan_cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/cluster_search.h"
#include "cli/exit_code.h"
#include "cli/graph_check.h"
#include "cli/json/output.h"
#include "cli/long_answer.h"
#include "cli/plan_cluster_report.h"
#include "cli/plan_studies.h"
#include "cli/reliability_options.h"
#include "cli/topology_option.h"
#include "core/error.h"
#include "core/import/open_cluster.h"
#include "core/layout/layout_text.h"
#include "core/plan/plan.h"
#include "core/plan/shipped.h"
#include "simulator/failure/failure_profile.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/memory/memory_model.h"
#include "simulator/planner/best_layouts.h"
#include "simulator/planner/fed_pricer.h"
#include "simulator/planner/goodput.h"
#include "simulator/planner/planner.h"
#include "simulator/planner/program_fit.h"
#include "simulator/planner/search_machine.h"
#include "simulator/planner/stage_split.h"
#include "simulator/step/step_costs.h"

namespace trainyard::cli {

namespace {

constexpr const char* kUsualFailures = "llama3-h100";
constexpr double kArchiveInterval = 7200.0;  // s of work between saves that outlive the newest few, as in `reliability`

// Layers moved between stages where that helps; the best stay in order, and the front has them.
void balance(simulator::SearchResult& result, const simulator::SearchRequest& request,
             const simulator::PricerFactory& pricers) {
  const simulator::MemoryModel memory(request.space.workload, request.machine, request.habits);
  const auto pricer = pricers();
  simulator::ParetoFront front;
  for (const simulator::RankedLayout& layout : result.pareto) {
    front.add(layout);
  }
  for (simulator::RankedLayout& layout : result.best) {
    layout = balanced_stages(layout, request.space.workload.model.layers, memory, *pricer);
    front.add(layout);
  }
  std::ranges::stable_sort(result.best,
                           [](const auto& a, const auto& b) { return a.step.step_time < b.step.step_time; });
  result.pareto = front.points();
}

ExplainedLayout explain(const PlanOptions& options, const simulator::SearchRequest& request,
                        const simulator::PricerFactory& pricers) {
  const simulator::MemoryModel memory(request.space.workload, request.machine, request.habits);
  const auto pricer = pricers();
  ExplainedLayout explained;
  explained.layout = parse_layout(*options.explain, "--explain", request.space.base, request.space.ranks,
                                  request.space.workload.global_batch);
  Plan plan;
  plan.model = request.space.workload.model;
  plan.training = training_from(options.training);
  plan.layout = explained.layout;
  validate(plan, "--explain");
  explained.step = pricer->price(explained.layout);
  explained.memory = memory.price(explained.layout);
  explained.lacks = exceeds_memory(explained.memory, explained.layout, memory.available());
  if (explained.lacks) {
    explained.change = cheapest_fit(memory, *pricer, request.space.workload, explained.layout);
  }
  return explained;
}

void require_pick(const PlanOptions& options, const simulator::SearchResult& result) {
  if (result.best.empty()) {
    throw Error(fmt::format("none of the {} layouts considered can work", result.considered), "trainyard plan",
                result.nearest_miss
                    ? "nearest: " + layout_text(result.nearest_layout) + ": " + result.nearest_miss->detail
                    : "no layout of these ranks has what the flags ask for");
  }
  if (options.pick < 1 || options.pick > result.best.size()) {
    throw Error(fmt::format("no number {} among the best {} layouts", options.pick, result.best.size()), "--pick",
                "1 is the best");
  }
}

simulator::PlannerRequest planner_request(const PlanOptions& options, const simulator::SearchRequest& request) {
  simulator::PlannerRequest planned;
  planned.model = request.space.workload.model;
  planned.training = training_from(options.training);
  planned.ranks = request.space.ranks;
  return planned;
}

// A search prices memory by formula; what leads the ranking fits as a program too, which is what `simulate` and the
// executor go by. What programs don't express stays.
void drop_unfit(ClusterPlan& plan, const DeviceProfile& profile) {
  const simulator::PlannerRequest planned = planner_request(plan.options, plan.request);
  auto& best = plan.result.best;
  const std::vector<simulator::ProgramFit> unfit = simulator::unfit_ahead(
      best.size(), [&](std::size_t i) { return make_plan(planned, profile, best[i].layout); }, profile);
  if (unfit.empty()) {
    return;
  }
  const std::string lacks = layout_text(best.front().layout) + ": " + unfit.front().lacks->detail;
  const auto end = static_cast<std::ptrdiff_t>(unfit.size());
  best.erase(best.begin(), best.begin() + end);
  if (!plan.goodput.empty()) {
    plan.goodput.erase(plan.goodput.begin(), plan.goodput.begin() + end);
  }
  const std::string note =
      fmt::format("{} of the best fit by formula, but not as programs; the first, {}", unfit.size(), lacks);
  if (best.empty()) {
    throw Error(note, "trainyard plan", "--top with a larger number ranks more of them");
  }
  fmt::print(stderr, "note: {}\n", note);
}

// Of a layout that was picked by hand.
void warn_of_program(const Plan& plan, const DeviceProfile& profile) {
  const simulator::ProgramFit fit = simulator::program_fit(plan, profile);
  const std::string lacks = fit.lacks ? fit.lacks->detail : fit.not_expressed;
  if (!lacks.empty()) {
    fmt::print(stderr,
               "note: fits by formula, but not as a program, so `simulate` refuses it: {}; --pick K writes another\n",
               lacks);
  }
}

RecoveryPolicy recovery_of(const PlanOptions& options) {
  RecoveryPolicy policy;
  if (!options.policy.empty()) {
    policy.kind = parse_recovery_kind(options.policy, "--policy");
  }
  return policy;
}

// The best again by useful tokens a day.
void rank_by_goodput(ClusterPlan& plan, const DeviceProfile& profile) {
  const PlanOptions& options = plan.options;
  const std::string word = options.failures.empty() ? kUsualFailures : options.failures;
  const simulator::FailureProfile failures = simulator::open_failure_profile(word);
  plan.failures = failures.name;
  const bool graph = names_topology(options.machine.cluster);
  const Cluster cluster = graph ? open_cluster(options.machine.cluster) : Cluster();
  const std::int64_t per_node = profile.analytic()->fabric.ranks_per_node.value;
  const simulator::FaultDomains domains = graph ? simulator::FaultDomains(cluster, options.ranks, failures)
                                                : simulator::FaultDomains(options.ranks, per_node, failures);
  const Training training = training_from(options.training);
  simulator::GoodputRequest request{.model = plan.request.space.workload.model,
                                    .training = training,
                                    .machine = plan.request.machine,
                                    .profile = failures,
                                    .domains = domains,
                                    .front_end = graph ? simulator::front_end(cluster) : simulator::FrontEnd(),
                                    .policy = recovery_of(options),
                                    .checkpoint = {},
                                    .overrides = {}};
  request.overrides.archive_interval = from_si<Seconds>(kArchiveInterval);
  plan.goodput = simulator::rank_by_goodput(plan.result.best, request);
  if (!(plan.goodput.front().goodput > 0.0)) {
    throw Error("none of the layouts can follow it", "--policy " + std::string(to_string(request.policy.kind)),
                "a layout with hybrid sharding (shard groups), or another policy");
  }
  std::ranges::transform(plan.goodput, plan.result.best.begin(), &simulator::GoodputLayout::layout);
}

void write_picked(const PlanOptions& options, const simulator::SearchRequest& request, const DeviceProfile& profile,
                  const simulator::RankedLayout& picked, const Seconds& step, const simulator::GoodputLayout* goodput) {
  Plan plan = simulator::make_plan(planner_request(options, request), profile, picked.layout);
  plan.prediction = Prediction{
      step, static_cast<double>(request.space.workload.global_batch * request.space.workload.sequence) / step.si(),
      picked.memory.total};
  if (goodput != nullptr) {
    plan.recovery = simulator::advised_recovery(recovery_of(options), *goodput);
    plan.checkpoint = simulator::advised_checkpoint(plan.checkpoint, *goodput);
  }
  apply(options.recovery, plan);
  plan.provenance.version = tool_version();
  plan.provenance.inputs["model"] = content_hash(open_text(options.model, shipped_models(), "--model").text);
  const std::string cluster = names_topology(options.machine.cluster)
                                  ? options.machine.cluster
                                  : open_text(options.machine.cluster, shipped_clusters(), "--cluster").text;
  plan.provenance.inputs["cluster"] = content_hash(cluster);
  validate(plan, options.output);
  write_plan(plan, options.output);
  warn_of_program(plan, profile);
}

// Flags that this accelerator or cluster has no answer to.
void check_machine(const PlanOptions& options, const simulator::SearchRequest& request, const Fabric& fabric) {
  const Accelerator& accelerator = request.machine.accelerator;
  if (options.layout.precision) {
    const DataType type = request.space.base.compute_type;
    std::vector<std::string_view> types;
    bool known = false;
    for (const auto& [stated, peak] : accelerator.dense_peak) {
      types.push_back(to_string(stated));
      known = known || stated == type || (type == DataType::kBf16 && stated == DataType::kFp16);
    }
    if (!known) {
      throw Error(fmt::format("{} computes no products in {}", accelerator.name, to_string(type)), "--precision",
                  fmt::format("it has {}", fmt::join(types, ", ")));
    }
  }
  const std::int64_t most = options.sweep.empty() ? options.ranks : *std::ranges::max_element(options.sweep);
  if (most > fabric.ranks.value) {
    fmt::print(stderr, "note: {} ranks are more than the {} of {}: taken as a larger one of the same make\n", most,
               fabric.ranks.value, fabric.name);
  }
}

// Which of the ranking is the best: what --pick says; without it the fastest of those simulated.
std::size_t picked_of(const PlanOptions& options, const std::vector<GraphCheck>& checks) {
  const GraphCheck* best = options.pick == 1 ? fastest(checks) : nullptr;
  return best != nullptr ? best->place : options.pick - 1;
}

// Of the picked: as simulated, where it is.
Seconds step_of(const simulator::RankedLayout& picked, std::size_t place, const std::vector<GraphCheck>& checks) {
  for (const GraphCheck& check : checks) {
    if (check.place == place && check.simulated) {
      return check.simulated->median;
    }
  }
  return picked.step.step_time;
}

}  // namespace

int plan_on_cluster(const Session& session, const PlanOptions& options, const DeviceProfile& profile) {
  const AnalyticProfile& analytic = *profile.analytic();
  const StackedMachine stacked = open_stacked_machine(
      analytic.accelerator, analytic.fabric, options.software,
      [&](const Plan& own) { return input_feed(options.input, own, analytic.fabric, options.machine.cluster); });
  const simulator::SearchRequest request = cluster_request(options, stacked.machine);
  print_anchors(stacked, request.space.workload.model.experts.has_value());
  check_machine(options, request, profile.analytic()->fabric);
  const Training training = training_from(options.training);
  const simulator::InputFeed feed = input_feed(options.input, {.model = request.space.workload.model,
                                                               .training = training,
                                                               .layout = request.space.base,
                                                               .fabric = analytic.fabric,
                                                               .ranks = options.ranks,
                                                               .cluster = options.machine.cluster,
                                                               .checkpoint_every = options.recovery.checkpoint_every});
  const simulator::MachinePricers machines = simulator::fed(simulator::curve_pricers(request.machine), feed);
  const Study study{session, options, request, machines};
  if (!options.sweep.empty()) {
    return print_sweep(study);
  }
  if (!options.maximize.empty()) {
    return print_maximum(study);
  }
  std::optional<LongAnswer> answer(std::in_place, session);
  const auto begin = std::chrono::steady_clock::now();
  const simulator::PricerFactory pricers = machines(request.space.workload, request.machine);
  ClusterPlan plan{.options = options,
                   .request = request,
                   .anchors = stacked.anchors,
                   .result = search_cluster(*answer, request, pricers)};
  require_pick(options, plan.result);
  balance(plan.result, request, pricers);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  plan.elapsed = from_si<Seconds>(elapsed.count());
  if (options.by_goodput()) {
    answer->show("goodput of the best");
    rank_by_goodput(plan, profile);
  }
  if (options.simulated > 0) {
    plan.checks =
        check_on_graph(options, request, plan.result, feed, [&](const std::string& text) { answer->show(text); });
  }
  if (options.simulated == 0) {
    answer->show("memory of the best as a program");
    drop_unfit(plan, profile);
    require_pick(options, plan.result);
  }
  plan.picked = picked_of(options, plan.checks);
  const simulator::RankedLayout& picked = plan.result.best[plan.picked];
  if (options.explain && !options.explain->empty()) {
    plan.explained = explain(options, request, pricers);
  }
  answer->commit([&] {
    save_stack(options.software, request.machine.stack);
    if (!options.output.empty()) {
      write_picked(options, request, profile, picked, step_of(picked, plan.picked, plan.checks),
                   plan.goodput.empty() ? nullptr : &plan.goodput[plan.picked]);
    }
  });
  answer.reset();
  if (options.sensitivity) {
    return print_sensitivity(study, picked);
  }
  if (session.json) {
    print_json(to_json(plan));
  } else {
    print_cluster_plan(session, plan);
  }
  return kOk;
}

}  // namespace trainyard::cli
