// Sensitivity, sweep, maxima, uneven stages and advice, with the step model on H100.
#include <gtest/gtest.h>

#include "core/model/huggingface.h"
#include "core/model/parameter.h"
#include "simulator/planner/fit_search.h"
#include "simulator/planner/maximize.h"
#include "simulator/planner/memory_advice.h"
#include "simulator/planner/scaling_sweep.h"
#include "simulator/planner/search_machine.h"
#include "simulator/planner/sensitivity.h"
#include "simulator/planner/stage_split.h"
#include "tests/simulator/support/profiles.h"

namespace trainyard::simulator {
namespace {

SearchRequest request_of(const std::string& model, std::int64_t ranks, std::int64_t sequence, std::int64_t batch) {
  const DeviceProfile cluster = llama3_cluster();
  SearchRequest request;
  request.space.workload = {
      read_huggingface_config(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/" + model + ".json"), sequence, batch};
  request.space.ranks = ranks;
  request.space.base.compute_type = DataType::kBf16;
  request.space.base.parameter_type = DataType::kBf16;
  request.space.base.communication_type = DataType::kBf16;
  request.machine = {cluster.analytic()->accelerator, cluster.analytic()->fabric,
                     find_stack(cluster.analytic()->accelerator, "")};
  return request;
}

SearchResult found(const SearchRequest& request) {
  return search_layouts(request, curve_pricers(request.machine)(request.space.workload, request.machine));
}

TEST(Sensitivity, MoreOfAnythingNeverSlowsTheBestLayout) {
  const SearchRequest request = request_of("llama-3-8b", 32, 8192, 64);
  const RankedLayout today = found(request).best.front();
  const auto entries = sensitivities(request, today, usual_changes(request.machine), curve_pricers(request.machine));
  ASSERT_GE(entries.size(), 9U);
  for (const MachineSensitivity& entry : entries) {
    EXPECT_GE(entry.speedup, entry.same_layout - 1e-9) << entry.what;  // the best is at least as good as today's
    if (entry.what.find("buckets") != std::string::npos) {
      continue;  // smaller ones leave less of the last bucket and are slower on the wire
    }
    const bool halved = entry.what.find("halved") != std::string::npos;
    EXPECT_TRUE(halved ? entry.speedup <= 1.001 : entry.speedup >= 0.999) << entry.what << " " << entry.speedup;
  }
}

TEST(ScalingSweep, WeakScalingKeepsTheBatchPerRank) {
  const SearchRequest request = request_of("llama-3-8b", 64, 8192, 128);
  const auto points = scaling_sweep(request, {16, 64, 256}, Scaling::kWeak, curve_pricers(request.machine));
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].global_batch, 32);
  EXPECT_EQ(points[2].global_batch, 512);
  for (const SweepPoint& point : points) {
    ASSERT_TRUE(point.feasible);
    EXPECT_EQ(point.best.layout.ranks(), point.ranks);
    EXPECT_GT(point.efficiency, 0.5);
  }
  EXPECT_DOUBLE_EQ(points[0].efficiency, 1.0);
}

TEST(Maximize, OneStepMoreFitsUnderNoLayout) {
  SearchRequest request = request_of("llama-3-8b", 16, 8192, 16);
  for (const Maximized what : {Maximized::kBatch, Maximized::kParameters, Maximized::kContext}) {
    const auto maximum = maximize(request, what, curve_pricers(request.machine));
    ASSERT_TRUE(maximum.has_value()) << to_string(what);
    EXPECT_GT(maximum->next, maximum->value) << to_string(what);
    EXPECT_LE(maximum->best.memory.total, request.machine.accelerator.memory.value) << to_string(what);
    ASSERT_TRUE(maximum->next_lacks.has_value()) << to_string(what);
    EXPECT_GT(maximum->next_lacks->needed.value(), maximum->next_lacks->available.value()) << to_string(what);
  }
}

// More memory never makes the largest network smaller.
TEST(Maximize, GrowsWithMemory) {
  SearchRequest request = request_of("llama-3-8b", 8, 4096, 8);
  const auto before = maximize(request, Maximized::kParameters, curve_pricers(request.machine));
  request.machine.accelerator.memory.value =
      ByteCount(std::int64_t{2} * request.machine.accelerator.memory.value.value());
  const auto after = maximize(request, Maximized::kParameters, curve_pricers(request.machine));
  ASSERT_TRUE(before && after);
  EXPECT_GT(after->value, before->value);
}

// Twice the width at the same aspect: 8 times the layers' weights, twice the embedding.
TEST(ScaledModel, KeepsTheShape) {
  const ModelSpec model = request_of("llama-3-8b", 8, 4096, 8).space.workload.model;
  const ModelSpec twice = scaled_model(model, 2 * model.hidden);
  EXPECT_EQ(twice.layers, 2 * model.layers);
  EXPECT_EQ(twice.feed_forward, 2 * model.feed_forward);
  EXPECT_EQ(twice.heads, 2 * model.heads);
  EXPECT_EQ(twice.head_size, model.head_size);
  EXPECT_EQ(scaled_model(model, model.hidden), model);
}

TEST(RecomputeCurve, PaysOnlyWhereItIsFasterThanTheBestWithout) {
  const SearchRequest request = request_of("llama-3-8b", 16, 8192, 16);
  const auto maximum = maximize(request, Maximized::kBatch, curve_pricers(request.machine));
  ASSERT_TRUE(maximum.has_value());
  const RecomputeCurve curve = recompute_curve(request, maximum->value, curve_pricers(request.machine));
  ASSERT_FALSE(curve.points.empty());
  for (const RecomputePoint& point : curve.points) {
    if (point.tokens_with > curve.best_without) {
      ASSERT_TRUE(curve.pays_up_to.has_value());
      EXPECT_LE(point.batch, *curve.pays_up_to);
    }
  }
}

TEST(StageSplit, IsNeverSlowerAndKeepsTheLayers) {
  const SearchRequest request = request_of("llama-3-70b", 64, 8192, 64);
  const MemoryModel memory(request.space.workload, request.machine, request.habits);
  const auto pricer = curve_pricers(request.machine)(request.space.workload, request.machine)();
  for (const RankedLayout& layout : found(request).best) {
    const RankedLayout balanced = balanced_stages(layout, 80, memory, *pricer);
    EXPECT_LE(balanced.step.step_time, layout.step.step_time);
    int layers = 0;
    for (const int chunk : balanced.layout.chunk_layers) {
      layers += chunk;
    }
    EXPECT_TRUE(balanced.layout.chunk_layers.empty() || layers == 80);
  }
}

// 32 layers in 4 stages of 8 chunks: one a chunk, and only the first and the last can go without.
TEST(StageSplit, LeavesALayerInEveryInnerChunk) {
  const SearchRequest request = request_of("llama-3-8b", 64, 8192, 128);
  const MemoryModel memory(request.space.workload, request.machine, request.habits);
  const auto pricer = curve_pricers(request.machine)(request.space.workload, request.machine)();
  for (const int chunks : {2, 4, 8}) {
    RankedLayout layout;
    layout.layout = request.space.base;
    layout.layout.pipeline = 4;
    layout.layout.tensor = 4;
    layout.layout.data = 4;
    layout.layout.accumulation = 32;
    layout.layout.zero_stage = 1;
    layout.layout.schedule = ScheduleKind::kInterleaved;
    layout.layout.chunks_per_stage = chunks;
    layout.step = pricer->price(layout.layout);
    layout.memory = memory.price(layout.layout);
    const std::vector<int> layers = balanced_stages(layout, 32, memory, *pricer).layout.chunk_layers;
    for (std::size_t chunk = 1; chunk + 1 < layers.size(); ++chunk) {
      EXPECT_GE(layers[chunk], 1) << chunks << " chunks a stage, chunk " << chunk;
    }
  }
}

TEST(MemoryAdvice, TheChangeFitsAndNamesItself) {
  const SearchRequest request = request_of("llama-3-8b", 64, 8192, 64);
  const MemoryModel memory(request.space.workload, request.machine, request.habits);
  const auto pricer = curve_pricers(request.machine)(request.space.workload, request.machine)();
  Layout layout = request.space.base;
  layout.data = 64;  // 18 bytes a parameter: 135 GiB
  const auto change = cheapest_fit(memory, *pricer, request.space.workload, layout);
  ASSERT_TRUE(change.has_value());
  EXPECT_LE(change->result.memory.total, memory.available());
  EXPECT_FALSE(change->change.empty());
}

}  // namespace
}  // namespace trainyard::simulator
