#include "simulator/planner/stage_split.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace trainyard::simulator {

namespace {

constexpr int kMostMoves = 8;

std::vector<int> even_chunks(std::int64_t layers, std::int64_t chunks) {
  std::vector<int> result;
  for (std::int64_t i = 0; i < chunks; ++i) {
    result.push_back(static_cast<int>((i + 1) * layers / chunks - i * layers / chunks));
  }
  return result;
}

// A stage's chunks in the order of the forward pass.
std::vector<std::size_t> chunks_of(const Layout& layout, int stage) {
  if (layout.schedule == ScheduleKind::kZeroBubbleV) {
    return {static_cast<std::size_t>(stage), static_cast<std::size_t>(2 * layout.pipeline - 1 - stage)};
  }
  std::vector<std::size_t> result;
  for (int local = 0; local < layout.chunks_per_stage; ++local) {
    result.push_back(static_cast<std::size_t>(local * layout.pipeline + stage));
  }
  return result;
}

// Of `chunks`, the one with most layers that can do without one: only the first and the last chunk of the model have
// work besides layers. The earliest of equals.
std::optional<std::size_t> fullest_giver(const Layout& layout, const std::vector<std::size_t>& chunks) {
  std::optional<std::size_t> fullest;
  for (const std::size_t chunk : chunks) {
    const int least = chunk == 0 || chunk + 1 == layout.chunk_layers.size() ? 0 : 1;
    const int layers = layout.chunk_layers[chunk];
    if (layers > least && (!fullest || layers > layout.chunk_layers[*fullest])) {
      fullest = chunk;
    }
  }
  return fullest;
}

std::optional<RankedLayout> best_move(const RankedLayout& from, const MemoryModel& memory, LayoutPricer& pricer) {
  const std::vector<int>& layers = from.layout.chunk_layers;
  const auto fewer = [&](std::size_t a, std::size_t b) { return layers[a] < layers[b]; };
  std::optional<RankedLayout> best;
  const std::optional<std::size_t> giver = fullest_giver(from.layout, chunks_of(from.layout, from.step.slowest_stage));
  if (!giver) {
    return best;
  }
  for (int stage = 0; stage < from.layout.pipeline; ++stage) {
    if (stage == from.step.slowest_stage) {
      continue;
    }
    const std::vector<std::size_t> takers = chunks_of(from.layout, stage);
    RankedLayout moved = from;
    --moved.layout.chunk_layers[*giver];
    ++moved.layout.chunk_layers[*std::ranges::min_element(takers, fewer)];
    moved.memory = memory.price(moved.layout);
    if (moved.memory.total > memory.available()) {
      continue;
    }
    moved.step = pricer.price(moved.layout);
    if (moved.step.step_time < (best ? best->step.step_time : from.step.step_time)) {
      best = std::move(moved);
    }
  }
  return best;
}

}  // namespace

RankedLayout balanced_stages(const RankedLayout& layout, std::int64_t layers, const MemoryModel& memory,
                             LayoutPricer& pricer) {
  if (layout.layout.pipeline == 1 || layout.layout.schedule == ScheduleKind::kDualPipe) {
    return layout;
  }
  RankedLayout current = layout;
  if (current.layout.chunk_layers.empty()) {
    current.layout.chunk_layers =
        even_chunks(layers, std::int64_t{layout.layout.pipeline} * layout.layout.chunks_per_stage);
  }
  bool better = false;
  for (int move = 0; move < kMostMoves; ++move) {
    std::optional<RankedLayout> next = best_move(current, memory, pricer);
    if (!next) {
      break;
    }
    current = std::move(*next);
    better = true;
  }
  return better ? current : layout;
}

}  // namespace trainyard::simulator
