// Times the planner's searches in CPU seconds, with and without pruning:
//   rate     layouts a CPU second, priced with pruning off, on spaces of growing size: the work is linear in layouts
//   gpt3     GPT-3 175B, batch 1,536, on 4,096 H100: at least Calculon's 1.08 M layouts (7.47 M with offload)
//   llama3   Llama 3 405B, batch 2,048, on 16,384 H100
// Models and accelerators are read from the folder given as the argument (models/).
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "core/model/huggingface.h"
#include "core/plan/accelerator.h"
#include "simulator/planner/layout_search.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::simulator {
namespace {

struct Measured {
  double cpu = 0.0;
  double wall = 0.0;
  long mib = 0;
};

Measured use_so_far() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now().time_since_epoch();
  return {seconds(use.ru_utime) + seconds(use.ru_stime), wall.count(), use.ru_maxrss / 1024};
}

SearchRequest request_of(const std::string& models, const std::string& model, std::int64_t ranks, std::int64_t sequence,
                         std::int64_t batch) {
  SearchRequest request;
  request.space.workload = {read_huggingface_config(models + "/llm/" + model + ".json"), sequence, batch};
  request.machine.accelerator = read_accelerator(models + "/accelerators/h100-sxm.json");
  request.machine.fabric = read_fabric(models + "/clusters/llama3-16k-h100.json");
  request.machine.stack = find_stack(request.machine.accelerator, "");
  request.habits = memory_habits(request.machine.stack);
  request.space.ranks = ranks;
  request.space.base.compute_type = DataType::kBf16;
  request.space.base.parameter_type = DataType::kBf16;
  request.space.base.communication_type = DataType::kBf16;
  return request;
}

void run(const char* name, const SearchRequest& request) {
  const Measured before = use_so_far();
  const SearchResult result =
      search_layouts(request, curve_pricers(request.machine)(request.space.workload, request.machine));
  const Measured after = use_so_far();
  const double cpu = after.cpu - before.cpu;
  const auto priced = static_cast<double>(result.feasible - result.pruned);
  fmt::print("{:<34}{:>9}{:>9}{:>9}{:>8.2f}{:>8.2f}{:>10.0f}{:>11.0f}{:>6}", name, result.considered, result.feasible,
             result.feasible - result.pruned, cpu, after.wall - before.wall, priced / cpu,
             static_cast<double>(result.considered) / cpu, after.mib);
  if (!result.best.empty()) {
    fmt::print("  {:.3f} s {}", result.best.front().step.step_time.si(), describe(result.best.front().layout));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

int bench(const std::string& models) {
  fmt::print("{:<34}{:>9}{:>9}{:>9}{:>8}{:>8}{:>10}{:>11}{:>6}\n", "search, 2 threads", "layouts", "fit", "priced",
             "cpu s", "wall s", "priced/s", "layouts/s", "MiB");
  for (const std::int64_t ranks : {64, 256, 1024, 4096, 16384}) {
    SearchRequest request = request_of(models, "llama-3-70b", ranks, 8192, 2048);
    request.prune = false;
    run(fmt::format("rate: Llama 3 70B on {}", ranks).c_str(), request);
  }
  SearchRequest gpt = request_of(models, "gpt3-175b", 4096, 2048, 1536);
  gpt.space.limits.vary_overlap = true;
  gpt.space.limits.max_context = 4;  // Calculon has none: its spaces are 1.08 M and 7.47 M layouts
  run("gpt3: 4,096 H100", gpt);
  gpt.prune = false;
  run("gpt3: 4,096 H100, no pruning", gpt);
  gpt.space.limits.offload = true;
  gpt.space.limits.max_context = 2;
  gpt.prune = true;
  run("gpt3: 4,096 H100, offload", gpt);
  SearchRequest llama = request_of(models, "llama-3.1-405b", 16384, 8192, 2048);
  run("llama3: 405B on 16,384 H100", llama);
  llama.space.limits.vary_overlap = true;
  run("llama3: with overlaps varied", llama);
  return 0;
}

}  // namespace
}  // namespace trainyard::simulator

int main(int argc, char** argv) { return trainyard::simulator::bench(argc > 1 ? argv[1] : "models"); }
