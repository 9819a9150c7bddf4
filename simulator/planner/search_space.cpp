#include "simulator/planner/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/plan/plan_size.h"

namespace trainyard::simulator {
namespace {

std::vector<std::int64_t> divisors(std::int64_t n, std::int64_t limit) {
  std::vector<std::int64_t> result;
  for (std::int64_t d = 1; d <= std::min(n, limit); ++d) {
    if (n % d == 0) {
      result.push_back(d);
    }
  }
  return result;
}

std::vector<bool> off_and_on(bool matters, bool fixed) {
  return matters ? std::vector<bool>{false, true} : std::vector<bool>{fixed};
}

// Schedules with their chunks per stage.
std::vector<std::pair<ScheduleKind, int>> schedules(const Layout& degrees, const SearchLimits& limits,
                                                    std::int64_t layers) {
  std::vector<std::pair<ScheduleKind, int>> result{{ScheduleKind::k1f1b, 1}};
  if (degrees.pipeline == 1) {
    return result;
  }
  result.emplace_back(ScheduleKind::kGpipe, 1);
  if (degrees.accumulation % degrees.pipeline == 0) {
    for (int chunks = 2; chunks <= limits.max_chunks && std::int64_t{chunks} * degrees.pipeline <= layers;
         chunks *= 2) {
      result.emplace_back(ScheduleKind::kInterleaved, chunks);
    }
  }
  return result;
}

// Every combination of the switches for given degrees and micro-batch.
void append_switches(const Layout& degrees, const Layout& base, const SearchLimits& limits, std::int64_t layers,
                     std::vector<Layout>& layouts) {
  for (const auto& [schedule, chunks] : schedules(degrees, limits, layers)) {
    for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
      for (const bool sequence_parallel : off_and_on(degrees.tensor > 1, false)) {
        for (const bool sharded : off_and_on(degrees.data > 1, false)) {
          for (const bool overlap : off_and_on(degrees.data > 1 && limits.vary_overlap, base.overlap_gradient_reduce)) {
            Layout layout = degrees;
            layout.schedule = schedule;
            layout.chunks_per_stage = chunks;
            layout.recompute = recompute;
            layout.sequence_parallel = sequence_parallel;
            layout.zero_stage = sharded ? 1 : 0;
            layout.overlap_gradient_reduce = overlap;
            layouts.push_back(layout);
          }
        }
      }
    }
  }
}

}  // namespace

std::vector<Layout> search_space(const ModelSpec& model, const Training& training, std::int64_t ranks,
                                 const Layout& base, const SearchLimits& limits) {
  std::vector<Layout> layouts;
  for (const std::int64_t tensor : divisors(ranks, std::min<std::int64_t>(limits.max_tensor, model.heads))) {
    for (const std::int64_t pipeline : divisors(ranks / tensor, model.layers)) {
      const std::int64_t data = ranks / tensor / pipeline;
      Layout degrees = base;
      degrees.tensor = static_cast<int>(tensor);
      degrees.pipeline = static_cast<int>(pipeline);
      degrees.data = static_cast<int>(data);
      degrees.chunks_per_stage = 1;
      if (training.global_batch % data != 0) {
        degrees.micro_batch = 1;
        degrees.accumulation = std::max<std::int64_t>(1, training.global_batch / data);
        layouts.push_back(degrees);  // one stands for all of them in the count of what is impossible
        continue;
      }
      const std::int64_t share = training.global_batch / data;
      for (const std::int64_t micro_batch : divisors(share, limits.max_micro_batch)) {
        degrees.micro_batch = micro_batch;
        degrees.accumulation = share / micro_batch;
        append_switches(degrees, base, limits, model.layers, layouts);
      }
    }
  }
  return layouts;
}

std::optional<Infeasible> why_impossible(const ModelSpec& model, const Training& training, const Layout& layout) {
  const auto divides = [](std::string detail) {
    return Infeasible{InfeasibleReason::kDivision, std::move(detail), std::nullopt, std::nullopt};
  };
  if (training.global_batch != layout.sequences_per_step()) {
    return divides(fmt::format("a batch of {} sequences can't be dealt out to {} data-parallel ranks",
                               training.global_batch, layout.data));
  }
  if (const std::optional<Oversize> over = oversize(model, training, layout)) {
    return Infeasible{InfeasibleReason::kUnsupported, over->problem, std::nullopt, std::nullopt};
  }
  if (model.key_value_heads % layout.tensor != 0) {
    return divides(fmt::format("{} key-value heads can't be cut over {} tensor-parallel ranks", model.key_value_heads,
                               layout.tensor));
  }
  if (layout.sequence_parallel && training.sequence * layout.micro_batch % layout.tensor != 0) {
    return divides(fmt::format("{} tokens can't be cut over {} tensor-parallel ranks",
                               training.sequence * layout.micro_batch, layout.tensor));
  }
  return std::nullopt;
}

}  // namespace trainyard::simulator
