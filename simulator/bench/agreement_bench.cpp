// How near the closed form of a step and its instructions are: over a uniform sample of the layouts that a search finds
// feasible, which has many that nobody would run, and over the fastest of them, which is what a ranking shows.
// Same kernels, same collectives; 80 ms a layout and more.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/layout/layout_text.h"
#include "core/plan/shipped.h"
#include "core/program/outline.h"
#include "simulator/planner/layout_search.h"
#include "simulator/planner/search_machine.h"
#include "simulator/step/outline_execution.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {
namespace {

struct Question {
  const char* model;
  std::int64_t ranks;
  std::int64_t sequence;
  std::int64_t batch;
  std::uint64_t sampled;  // one in so many
};

constexpr std::array kQuestions = {
    Question{"llama-3-8b", 64, 8192, 128, 14000}, Question{"llama-3-70b", 1024, 8192, 512, 24000},
    Question{"mixtral-8x7b-v0.1", 128, 4096, 512, 150000}, Question{"gpt3-175b", 512, 2048, 1536, 32000}};
constexpr std::size_t kFastest = 60;

SearchRequest request_of(const Question& question) {
  SearchRequest request;
  const Fabric fabric = open_fabric("llama3-16k-h100");
  const Accelerator accelerator = open_accelerator(fabric.accelerator);
  request.space.workload = {open_model(question.model), question.sequence, question.batch};
  request.space.ranks = question.ranks;
  request.space.ranks_per_node = fabric.ranks_per_node.value;
  request.machine = {accelerator, fabric, find_stack(accelerator, "")};
  request.habits = memory_habits(request.machine.stack);
  Layout& base = request.space.base;
  base.compute_type = base.parameter_type = base.communication_type = DataType::kBf16;
  request.space.limits.vary_overlap = true;
  return request;
}

Plan plan_of(const SearchRequest& request, const Layout& layout) {
  Plan plan;
  plan.model = request.space.workload.model;
  plan.layout = layout;
  plan.cluster = {.name = "h100", .ranks_per_node = static_cast<int>(request.space.ranks_per_node), .device = "cuda"};
  plan.training.sequence = request.space.workload.sequence;
  plan.training.global_batch = request.space.workload.global_batch;
  plan.training.steps = 1;
  return plan;
}

struct Agreement {
  int layouts = 0;
  int within_two = 0;  // per cent
  int within_five = 0;
  int refused = 0;  // no program expresses them
};

void add(Agreement& found, const SearchRequest& request, const GroupCost& groups, const RankedLayout& ranked,
         bool show) {
  const Plan plan = plan_of(request, ranked.layout);
  try {
    const ProgramOutline program = outline(plan);
    const OutlineCosts costs = price_under_stack(program, plan, request.machine, groups);
    const double off = to_seconds(OutlineExecution(program).run(costs)) / ranked.step.step_time - 1.0;
    ++found.layouts;
    found.within_two += std::abs(off) < 0.02 ? 1 : 0;
    found.within_five += std::abs(off) < 0.05 ? 1 : 0;
    if (show && std::abs(off) >= 0.02) {
      fmt::print("  {:+.1f} % {}\n", 100.0 * off, layout_text(ranked.layout));
    }
  } catch (const Error&) {
    ++found.refused;
  }
}

Agreement agreement(const SearchRequest& request, bool show) {
  const auto groups = curve_groups(request.machine, request.machine);
  const SearchResult result =
      search_layouts(request, curve_pricers(request.machine)(request.space.workload, request.machine));
  Agreement found;
  for (const RankedLayout& ranked : result.best) {
    add(found, request, *groups, ranked, show);
  }
  return found;
}

void print_row(const Question& question, std::string_view what, const Agreement& found) {
  const auto share = [&](int part) { return 100.0 * part / std::max(1, found.layouts); };
  fmt::print("{:<20} {:<10} {:>8} {:>10.0f} % {:>8.0f} % {:>8}\n", question.model, what, found.layouts,
             share(found.within_two), share(found.within_five), found.refused);
}

// show: also the layouts that differ by more than 2 %.
int bench(std::uint64_t seed, bool show) {
  fmt::print("{:<20} {:<10} {:>8} {:>12} {:>10} {:>8}\n", "model", "", "layouts", "within 2 %", "5 %", "refused");
  for (const Question& question : kQuestions) {
    SearchRequest request = request_of(question);
    request.keep = kFastest;
    print_row(question, "fastest", agreement(request, show));
    request.keep = 100'000;
    request.prune = false;
    request.wanted = [&](const Layout& layout) {
      const std::uint64_t hash = std::hash<std::string>()(layout_text(layout)) + seed;
      return (hash * 0x9e3779b97f4a7c15U >> 20) % question.sampled == 0;
    };
    print_row(question, "uniform", agreement(request, show));
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace trainyard::simulator

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  return trainyard::simulator::bench(seed, argc > 2);
}
