// Times what a simulated step is made of, in CPU seconds: Llama 3 405B, batch 2,048, on 16,384 H100 of llama3-roce, the
// best layouts of the search.
// Models and accelerators are read from the folder given as the argument (models/).
#include <fmt/format.h>
#include <sys/resource.h>

#include <string>

#include "core/cluster/builder.h"
#include "core/import/open_cluster.h"
#include "core/model/huggingface.h"
#include "core/plan/accelerator.h"
#include "simulator/cluster_machine.h"
#include "simulator/collective/flow_group_cost.h"
#include "simulator/memory/memory_estimate.h"
#include "simulator/planner/layout_search.h"
#include "simulator/planner/planner.h"
#include "simulator/planner/search_machine.h"
#include "simulator/simulate_cluster.h"
#include "simulator/step/outline_execution.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {
namespace {

class Clock {
 public:
  double lap() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    const double now = seconds(use.ru_utime) + seconds(use.ru_stime);
    const double since = now - last_;
    last_ = now;
    mib_ = use.ru_maxrss / 1024;
    return since;
  }
  long mib() const { return mib_; }

 private:
  double last_ = 0.0;
  long mib_ = 0;
};

int bench(const std::string& models, std::size_t wanted) {
  Clock clock;
  const Cluster cluster = open_cluster("llama3-roce");
  const Fabric fabric = fabric_of(cluster, "h100-sxm");
  fmt::print("cluster {:.2f}\n", clock.lap());
  SearchRequest request;
  request.space.workload = {read_huggingface_config(models + "/llm/llama-3.1-405b.json"), 8192, 2048};
  request.machine.accelerator = read_accelerator(models + "/accelerators/h100-sxm.json");
  request.machine.fabric = fabric;
  request.machine.stack = find_stack(request.machine.accelerator, "");
  request.habits = memory_habits(request.machine.stack);
  request.space.ranks = 16384;
  request.space.ranks_per_node = 8;
  request.space.base.compute_type = DataType::kBf16;
  request.space.base.parameter_type = DataType::kBf16;
  request.space.base.communication_type = DataType::kBf16;
  request.keep = 20;
  const SearchResult result =
      search_layouts(request, curve_pricers(request.machine)(request.space.workload, request.machine));
  fmt::print("search {:.2f}\n", clock.lap());
  FlowGroupOptions options = usual_flow_options(cluster);
  options.seeds = 1;
  const FlowGroupCost groups(cluster, request.space.ranks, shipped_collective_models(), options);
  PlannerRequest planned;
  planned.model = request.space.workload.model;
  planned.training.sequence = 8192;
  planned.training.global_batch = 2048;
  planned.training.steps = 1;
  planned.ranks = request.space.ranks;
  const DeviceProfile profile = analytic_profile(request.machine.accelerator, fabric);
  fmt::print("fabric {:.2f}\n", clock.lap());
  double sum[5] = {};
  for (std::size_t i = 0; i < result.best.size() && i < wanted; ++i) {
    const Plan plan = make_plan(planned, profile, result.best[i].layout);
    clock.lap();
    const ProgramOutline program = outline(plan);
    const double compiled = clock.lap();
    const double memory = clock.lap();
    const OutlineCosts costs = price_under_stack(program, plan, request.machine, groups);
    const double first = clock.lap();
    (void)price_under_stack(program, plan, request.machine, groups);
    const double priced = clock.lap();
    OutlineExecution execution(program);
    const double set_up = clock.lap();
    const Nanoseconds step = execution.run(costs);
    const double run = clock.lap();
    std::size_t instructions = 0;
    for (const RoleOutline& role : program.roles) {
      instructions += role.instructions.size();
    }
    fmt::print("{:>8} compile {:.3f} memory {:.3f} flows {:.3f} price {:.3f} run {:.3f} {:>5} MiB {:.9f} {}\n",
               instructions, compiled, set_up, first - priced, priced, run, clock.mib(), to_seconds(step).si(),
               describe(plan.layout));
    sum[0] += compiled;
    sum[1] += set_up + memory;
    sum[2] += first - priced;
    sum[3] += priced;
    sum[4] += run;
  }
  fmt::print("sum      compile {:.3f} memory {:.3f} flows {:.3f} price {:.3f} run {:.3f}\n", sum[0], sum[1], sum[2],
             sum[3], sum[4]);
  return 0;
}

}  // namespace
}  // namespace trainyard::simulator

int main(int argc, char** argv) {
  return trainyard::simulator::bench(argc > 1 ? argv[1] : "models", argc > 2 ? std::stoul(argv[2]) : 20);
}
