#include "cli/cluster_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/graph_check.h"
#include "core/error.h"
#include "core/plan/shipped.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::cli {

namespace {

constexpr std::size_t kKept = 20;
constexpr std::size_t kKeptForGoodput = 60;  // whose order failures may change

}  // namespace

simulator::SearchRequest cluster_request(const PlanOptions& options, const simulator::Machine& machine) {
  simulator::SearchRequest request;
  const Training training = training_from(options.training);
  request.space.workload = {open_model(options.model), training.sequence, training.global_batch};
  const ModelSpec& model = request.space.workload.model;
  if (training.sequence > model.positions && options.maximize != "context") {
    throw Error(fmt::format("{} tokens are more than the model's {} positions", training.sequence, model.positions),
                "--sequence", "a shorter sequence, or a larger max_position_embeddings in " + options.model);
  }
  request.machine = machine;
  request.habits = simulator::memory_habits(request.machine.stack);
  request.space.ranks = options.ranks;
  request.space.ranks_per_node = machine.fabric.ranks_per_node.value;
  request.space.base = base_layout(options.layout, "bf16");
  request.space.limits.offload = options.offload;
  request.space.limits.vary_overlap = options.vary_overlap;
  request.space.limits.selective = request.habits.unfused_attention;
  if (options.layout.recompute == to_string(Recompute::kSelective) && !request.habits.unfused_attention) {
    throw Error("is for attention that keeps its scores; fused kernels compute them again anyway",
                "--recompute selective", "none or full, or --stack of software with unfused attention");
  }
  request.wanted = [layout = options.layout](const Layout& candidate) { return wanted(layout, candidate); };
  request.keep = std::max(
      {options.by_goodput() ? kKeptForGoodput : kKept, options.top, options.pick, kTriedForEach * options.simulated});
  request.prune = !options.exhaustive;
  request.threads = options.threads;
  return request;
}

simulator::SearchResult search_cluster(LongAnswer& answer, const simulator::SearchRequest& request,
                                       const simulator::PricerFactory& pricers) {
  return simulator::search_layouts(request, pricers, [&](const simulator::SearchProgress& progress) {
    answer.show(fmt::format("{} of {} blocks, {} layouts", progress.blocks_done, progress.blocks, progress.considered));
  });
}

}  // namespace trainyard::cli
