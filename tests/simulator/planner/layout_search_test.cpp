#include "simulator/planner/layout_search.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <random>
#include <set>

#include "core/model/huggingface.h"
#include "core/model/model_flops.h"
#include "simulator/planner/best_layouts.h"
#include "simulator/planner/search_machine.h"
#include "simulator/planner/step_bound.h"
#include "tests/simulator/support/profiles.h"

namespace trainyard::simulator {
namespace {

ModelSpec shipped(const std::string& name) {
  return read_huggingface_config(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/" + name + ".json");
}

// A stand-in for StepModel: the bound made longer by a factor that every switch changes, so that ranks differ and the
// bound stays one.
class StandIn : public LayoutPricer {
 public:
  StandIn(const SearchRequest& request, std::atomic<std::int64_t>* calls)
      : bound_(request.space.workload, request.machine, request.space.base), calls_(calls) {}

  StepPrice price(const Layout& layout) override {
    if (calls_ != nullptr) {
      ++*calls_;
    }
    double factor = 1.1 + 0.03 * std::log2(layout.tensor) + 0.02 * std::log2(layout.context) +
                    0.01 * layout.zero_stage + 0.05 / static_cast<double>(layout.micro_batch);
    factor += layout.sequence_parallel ? 0.0 : 0.011 * (layout.tensor - 1);
    factor += layout.overlap_gradient_reduce ? 0.0 : 0.07;
    factor += 0.003 * static_cast<double>(layout.schedule);
    StepPrice price;
    price.step_time = bound_.of(layout) * factor;
    return price;
  }

 private:
  StepBound bound_;
  std::atomic<std::int64_t>* calls_;
};

SearchRequest request_of(const std::string& model, std::int64_t ranks, std::int64_t sequence, std::int64_t batch) {
  const DeviceProfile cluster = llama3_cluster();
  SearchRequest request;
  request.space.workload = {shipped(model), sequence, batch};
  request.space.ranks = ranks;
  request.space.base.compute_type = DataType::kBf16;
  request.space.base.parameter_type = DataType::kBf16;
  request.space.base.communication_type = DataType::kBf16;
  request.machine = {cluster.analytic()->accelerator, cluster.analytic()->fabric,
                     find_stack(cluster.analytic()->accelerator, "")};
  return request;
}

SearchResult search(const SearchRequest& request, std::atomic<std::int64_t>* calls = nullptr) {
  return search_layouts(request, [&] { return std::make_unique<StandIn>(request, calls); });
}

void expect_same(const std::vector<RankedLayout>& a, const std::vector<RankedLayout>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].layout, b[i].layout) << describe(a[i].layout) << " and " << describe(b[i].layout);
    EXPECT_EQ(a[i].step.step_time, b[i].step.step_time);
    EXPECT_EQ(a[i].memory.total, b[i].memory.total);
  }
}

TEST(LayoutSpace, HoldsEachLayoutOnceAndOnlyLayoutsOfTheRanks) {
  SearchRequest request = request_of("llama-3-8b", 16, 8192, 32);
  request.space.limits.vary_overlap = true;
  std::set<std::string> seen;
  const LayoutBlocks blocks = layout_blocks(request.space);
  ASSERT_FALSE(blocks.blocks.empty());
  for (const LayoutBlock& block : blocks.blocks) {
    for (const LayoutVariant& variant : block_variants(request.space, block)) {
      for_each_layout(request.space, block, variant, [&](const Layout& layout, std::int64_t) {
        EXPECT_EQ(layout.ranks(), 16);
        EXPECT_EQ(layout.sequences_per_step(), 32);
        EXPECT_TRUE(seen.insert(describe(layout)).second) << describe(layout);
      });
    }
  }
  EXPECT_GT(seen.size(), 10000U);
}

// The real model: nothing it adds to the bound makes a layout faster than the bound.
TEST(StepBound, IsBelowTheStepModel) {
  for (const auto& [model, ranks, batch] :
       {std::tuple{"llama-3-8b", 64, 128}, std::tuple{"mixtral-8x7b-v0.1", 64, 64}}) {
    const SearchRequest request = request_of(model, ranks, 4096, batch);
    const StepBound bound(request.space.workload, request.machine, request.space.base);
    const auto pricer = curve_pricers(request.machine)(request.space.workload, request.machine)();
    std::mt19937 random(3);
    int layouts = 0;
    for (const LayoutBlock& block : layout_blocks(request.space).blocks) {
      for (const LayoutVariant& variant : block_variants(request.space, block)) {
        for_each_layout(request.space, block, variant, [&](const Layout& layout, std::int64_t) {
          if (random() % 16 == 0) {
            EXPECT_LE(bound.of(layout).si(), pricer->price(layout).step_time.si() * (1 + 1e-12)) << describe(layout);
            ++layouts;
          }
        });
      }
    }
    EXPECT_GT(layouts, 1000);
  }
}

// The same with the real model on a larger space.
TEST(LayoutSearch, PrunedFindsWhatExhaustiveFindsWithTheStepModel) {
  SearchRequest request = request_of("llama-3-70b", 256, 8192, 512);
  const auto pricers = curve_pricers(request.machine)(request.space.workload, request.machine);
  const SearchResult pruned = search_layouts(request, pricers);
  request.prune = false;
  const SearchResult exhaustive = search_layouts(request, pricers);
  EXPECT_GT(pruned.pruned, 0);
  EXPECT_EQ(pruned.feasible, exhaustive.feasible);
  ASSERT_EQ(pruned.best.size(), exhaustive.best.size());
  for (std::size_t i = 0; i < pruned.best.size(); ++i) {
    EXPECT_EQ(pruned.best[i].layout, exhaustive.best[i].layout);
  }
  ASSERT_EQ(pruned.pareto.size(), exhaustive.pareto.size());
  for (std::size_t i = 0; i < pruned.pareto.size(); ++i) {
    EXPECT_EQ(pruned.pareto[i].layout, exhaustive.pareto[i].layout);
  }
}

// Random small spaces: what pruning leaves out is neither among the best 20 nor on the front, whatever the threads.
TEST(LayoutSearch, PrunedFindsWhatExhaustiveFinds) {
  std::mt19937 random(7);
  const char* models[] = {"llama-3.2-1b", "llama-3-8b", "llama-2-7b"};
  std::int64_t saved = 0;
  for (int trial = 0; trial < 12; ++trial) {
    const std::int64_t ranks = std::int64_t{1} << (2 + random() % 4);
    const std::int64_t batch = ranks * (std::int64_t{1} << (random() % 3));
    SearchRequest request = request_of(models[random() % 3], ranks, 2048 << (random() % 2), batch);
    request.prune = false;
    request.threads = 1;
    std::atomic<std::int64_t> calls = 0;
    const SearchResult exhaustive = search(request, &calls);
    ASSERT_EQ(exhaustive.pruned, 0);
    EXPECT_EQ(calls, exhaustive.feasible);
    request.prune = true;
    request.threads = 1 + static_cast<int>(random() % 4);
    calls = 0;
    const SearchResult pruned = search(request, &calls);
    EXPECT_EQ(pruned.considered, exhaustive.considered);
    EXPECT_EQ(pruned.feasible, exhaustive.feasible);
    EXPECT_EQ(calls + pruned.pruned, pruned.feasible);
    saved += pruned.pruned;
    expect_same(pruned.best, exhaustive.best);
    expect_same(pruned.pareto, exhaustive.pareto);
  }
  EXPECT_GT(saved, 1000);
}

TEST(LayoutSearch, IsTheSameForAnyNumberOfThreads) {
  SearchRequest request = request_of("llama-3-8b", 64, 8192, 128);
  request.threads = 1;
  const SearchResult one = search(request);
  request.threads = 3;
  const SearchResult three = search(request);
  expect_same(one.best, three.best);
  expect_same(one.pareto, three.pareto);
  EXPECT_EQ(one.pruned, three.pruned);
  EXPECT_EQ(one.too_large, three.too_large);
}

TEST(LayoutSearch, TheFrontFallsInMemoryAsTimeRises) {
  const SearchResult result = search(request_of("llama-3-8b", 64, 8192, 128));
  ASSERT_GT(result.pareto.size(), 2U);
  EXPECT_EQ(result.pareto.front().step.step_time, result.best.front().step.step_time);
  for (std::size_t i = 1; i < result.pareto.size(); ++i) {
    EXPECT_GT(result.pareto[i].step.step_time, result.pareto[i - 1].step.step_time);
    EXPECT_LT(result.pareto[i].memory.total, result.pareto[i - 1].memory.total);
  }
}

TEST(LayoutSearch, StopsWhenAskedAndSaysWhatLackedLeast) {
  SearchRequest request = request_of("llama-3.1-405b", 8, 8192, 8);
  const SearchResult result = search(request);
  EXPECT_TRUE(result.best.empty());
  ASSERT_TRUE(result.nearest_miss.has_value());
  EXPECT_EQ(result.too_large, result.considered);
  std::stop_source stop;
  stop.request_stop();
  const SearchResult stopped = search_layouts(
      request, [&] { return std::make_unique<StandIn>(request, nullptr); }, {}, stop.get_token());
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.considered, 0);
}

}  // namespace
}  // namespace trainyard::simulator
