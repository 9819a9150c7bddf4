#include "cli/plan_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/exit_code.h"
#include "cli/graph_check.h"
#include "cli/json/output.h"
#include "cli/layout_text.h"
#include "cli/plan_cluster_report.h"
#include "cli/plan_studies.h"
#include "cli/text/progress.h"
#include "cli/topology_option.h"
#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/shipped.h"
#include "simulator/memory/memory_model.h"
#include "simulator/planner/best_layouts.h"
#include "simulator/planner/planner.h"
#include "simulator/planner/search_machine.h"
#include "simulator/planner/stage_split.h"

namespace trainyard::cli {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kKept = 20;

simulator::SearchRequest request_from(const PlanOptions& options, const DeviceProfile& profile) {
  const AnalyticProfile& analytic = *profile.analytic();
  simulator::SearchRequest request;
  const Training training = training_from(options.training);
  request.space.workload = {open_model(options.model), training.sequence, training.global_batch};
  const ModelSpec& model = request.space.workload.model;
  if (training.sequence > model.positions && options.maximize != "context") {
    throw Error(fmt::format("{} tokens are more than the model's {} positions", training.sequence, model.positions),
                "--sequence", "a shorter sequence, or a larger max_position_embeddings in " + options.model);
  }
  request.machine = {analytic.accelerator, analytic.fabric, simulator::find_stack(analytic.accelerator, options.stack)};
  request.habits = simulator::memory_habits(request.machine.stack);
  request.space.ranks = options.ranks;
  request.space.ranks_per_node = analytic.fabric.ranks_per_node.value;
  request.space.base = base_layout(options.layout, "bf16");
  request.space.limits.offload = options.offload;
  request.space.limits.vary_overlap = options.vary_overlap;
  request.space.limits.selective = request.habits.unfused_attention;
  request.wanted = [layout = options.layout](const Layout& candidate) { return wanted(layout, candidate); };
  request.keep = std::max({kKept, options.top, options.pick});
  request.prune = !options.exhaustive;
  request.threads = options.threads;
  return request;
}

simulator::SearchResult search(const Session& session, const simulator::SearchRequest& request,
                               const simulator::PricerFactory& pricers) {
  ProgressLine line(session.err, 5s);
  return simulator::search_layouts(request, pricers, [&](const simulator::SearchProgress& progress) {
    if (session.err.terminal()) {
      line.show(fmt::format("{} of {} blocks, {} layouts", progress.blocks_done, progress.blocks, progress.considered));
    }
  });
}

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
  explained.layout =
      parse_layout(*options.explain, request.space.base, request.space.ranks, request.space.workload.global_batch);
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

void write_picked(const PlanOptions& options, const simulator::SearchRequest& request, const DeviceProfile& profile,
                  const simulator::RankedLayout& picked) {
  simulator::PlannerRequest planned;
  planned.model = request.space.workload.model;
  planned.training = training_from(options.training);
  planned.ranks = request.space.ranks;
  Plan plan = simulator::make_plan(planned, profile, picked.layout);
  plan.prediction =
      Prediction{picked.step.step_time, tokens_per_second(request.space.workload, picked.step), picked.memory.total};
  plan.provenance.version = tool_version();
  plan.provenance.inputs["model"] = content_hash(open_text(options.model, shipped_models(), "--model").text);
  const std::string cluster = names_topology(options.machine.cluster)
                                  ? options.machine.cluster
                                  : open_text(options.machine.cluster, shipped_clusters(), "--cluster").text;
  plan.provenance.inputs["cluster"] = content_hash(cluster);
  validate(plan, options.output);
  write_plan(plan, options.output);
}

}  // namespace

int plan_on_cluster(const Session& session, const PlanOptions& options, const DeviceProfile& profile) {
  const simulator::SearchRequest request = request_from(options, profile);
  const simulator::MachinePricers machines = simulator::curve_pricers(request.machine);
  const Study study{session, options, request, machines};
  if (!options.sweep.empty()) {
    return print_sweep(study);
  }
  if (!options.maximize.empty()) {
    return print_maximum(study);
  }
  const auto begin = std::chrono::steady_clock::now();
  const simulator::PricerFactory pricers = machines(request.space.workload, request.machine);
  ClusterPlan plan{.options = options, .request = request, .result = search(session, request, pricers)};
  require_pick(options, plan.result);
  balance(plan.result, request, pricers);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  plan.elapsed = from_si<Seconds>(elapsed.count());
  const simulator::RankedLayout& picked = plan.result.best[options.pick - 1];
  if (!options.output.empty()) {
    write_picked(options, request, profile, picked);
  }
  if (options.sensitivity) {
    return print_sensitivity(study, picked);
  }
  if (options.explain && !options.explain->empty()) {
    plan.explained = explain(options, request, pricers);
  }
  std::vector<GraphCheck> checks;
  if (options.simulated > 0) {
    checks = check_on_graph(options, request, plan.result);
  }
  if (session.json) {
    nlohmann::ordered_json document = to_json(plan);
    document["on_graph"] = to_json(checks);
    print_json(document);
  } else {
    print_cluster_plan(session, plan);
    if (!checks.empty()) {
      print_graph_checks(session, checks);
    }
  }
  return kOk;
}

}  // namespace trainyard::cli
