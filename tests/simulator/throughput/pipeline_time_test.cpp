#include "simulator/throughput/pipeline_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/schedule/schedule.h"
#include "simulator/throughput/pipeline_play.h"

namespace trainyard::simulator {
namespace {

// Four equal stages: forward 1 s, backward to inputs 1 s, to weights 1 s each.
StageTimes equal() { return {4_s, 4_s, 4_s, 3_s}; }

TEST(Bubble, WithPostValidationWeightGradientsFillItAsInQiEtAl) {
  // Table 1 there: ZB-H1 (p-1)(f + b - w) = 3 s, ZB-H2 (p-1)(f + b - 2w) = 0.
  EXPECT_NEAR(post_validation_bubble(ScheduleKind::kZeroBubbleH1, equal()).si(), 3.0, 1e-12);
  EXPECT_NEAR(post_validation_bubble(ScheduleKind::kZeroBubbleH2, equal()).si(), 0.0, 1e-12);
  EXPECT_NEAR(post_validation_bubble(ScheduleKind::kZeroBubbleV, equal()).si(), 0.0, 1e-12);
}

double last(const StageEnds& ends) {
  double latest = 0.0;
  for (const StageEnd& end : ends) {
    latest = std::max(latest, end.passes);
  }
  return latest;
}

std::vector<PassTimes> equal_passes(const PipelineShape& shape, PassTimes pass) {
  return std::vector<PassTimes>(static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks), pass);
}

TEST(PipelinePlay, OneForwardOneBackwardWaitsForTheOtherStages) {
  // (m + p - 1)(f + i + w), Narayanan et al. 2021: 8 + 3 times 3 s; GPipe alike.
  PipelinePlay play;
  for (const ScheduleKind kind : {ScheduleKind::k1f1b, ScheduleKind::kGpipe}) {
    const PipelineShape shape{kind, 4, 1, 8};
    EXPECT_NEAR(last(play.ends(shape, equal_passes(shape, {1, 1, 1}), 0.0)), 33.0, 1e-12);
  }
}

TEST(PipelinePlay, InterleavingDividesTheBubble) {
  // Chunks of half a stage: m (f + i + w) + (p - 1)(f + i + w) / v = 8 x 3 + 3 x 3 / 2.
  PipelinePlay play;
  const PipelineShape shape{ScheduleKind::kInterleaved, 4, 2, 8};
  EXPECT_NEAR(last(play.ends(shape, equal_passes(shape, {0.5, 0.5, 0.5}), 0.0)), 28.5, 1e-12);
}

TEST(PipelinePlay, ZeroBubbleLeavesTheFillOfEqualPasses) {
  // ZB-H1 (p-1)(f + i - w) and, as every rank waits for the last, the last weight gradients: (p-1) max(f + i - w, i).
  PipelinePlay play;
  const PipelineShape h1{ScheduleKind::kZeroBubbleH1, 4, 1, 16};
  EXPECT_NEAR(last(play.ends(h1, equal_passes(h1, {1, 1, 1}), 0.0)), 16 * 3 + 3, 1e-12);
  // ZB-H2: the fill, (p-1) f.
  const PipelineShape h2{ScheduleKind::kZeroBubbleH2, 4, 1, 16};
  EXPECT_NEAR(last(play.ends(h2, equal_passes(h2, {1, 1, 1}), 0.0)), 16 * 3 + 3, 1e-12);
}

TEST(PipelinePlay, TransfersDelayFillAndDrainAndEveryOtherPassBetween) {
  // GPipe: (m + p - 1)(f + i + w), and x for each of the 2 (p - 1) stage boundaries that the fills cross.
  PipelinePlay play;
  const PipelineShape shape{ScheduleKind::kGpipe, 4, 1, 8};
  EXPECT_NEAR(last(play.ends(shape, equal_passes(shape, {1, 1, 1}), 0.25)), 33.0 + 6 * 0.25, 1e-12);
}

const PassTimes& at_place(const std::vector<PassTimes>& passes, const PipelineShape& shape, ChunkPlace place) {
  return passes[static_cast<std::size_t>(place.stage) * static_cast<std::size_t>(shape.chunks) +
                static_cast<std::size_t>(place.chunk)];
}

// Every turn of every micro-batch, stage by stage: a pass begins when its stage is free and what it needs is there.
class TurnByTurn {
 public:
  TurnByTurn(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer)
      : shape_(shape), passes_(passes), transfer_(transfer) {}

  double end() {
    std::vector<std::vector<Slot>> slots;
    for (int stage = 0; stage < shape_.stages; ++stage) {
      slots.push_back(
          stage_schedule(shape_.schedule, shape_.stages, stage, shape_.chunks, static_cast<int>(shape_.micro_batches)));
    }
    std::vector<std::size_t> next(slots.size(), 0);
    std::vector<double> free(slots.size(), 0.0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int stage = 0; stage < shape_.stages; ++stage) {
        const auto s = static_cast<std::size_t>(stage);
        while (next[s] < slots[s].size()) {
          const std::optional<double> ready = ready_at(stage, slots[s][next[s]]);
          if (!ready) {
            break;
          }
          free[s] = std::max(free[s], *ready) + time_of(stage, slots[s][next[s]]);
          over_[key(stage, slots[s][next[s]])] = free[s];
          ++next[s];
          moved = true;
        }
      }
    }
    return *std::max_element(free.begin(), free.end());
  }

 private:
  using Key = std::tuple<int, int, int, SlotKind>;
  static Key key(int stage, const Slot& slot) { return {stage, slot.chunk, slot.microbatch, slot.kind}; }

  double time_of(int stage, const Slot& slot) const {
    const PassTimes& pass = at_place(passes_, shape_, {stage, slot.chunk});
    return slot.kind == SlotKind::kForward         ? pass.forward
           : slot.kind == SlotKind::kBackwardInput ? pass.input
                                                   : pass.weight;
  }

  // Nothing: what it waits for isn't over.
  std::optional<double> ready_at(int stage, const Slot& slot) const {
    if (slot.kind == SlotKind::kBackwardWeight) {
      return 0.0;  // its own input gradient came before it on this stage
    }
    const ChunkPlace own{stage, slot.chunk};
    const auto from = slot.kind == SlotKind::kForward
                          ? previous_place(shape_.schedule, shape_.stages, shape_.chunks, own)
                          : next_place(shape_.schedule, shape_.stages, shape_.chunks, own);
    Key needed = key(stage, {SlotKind::kForward, slot.microbatch, slot.chunk});
    if (from) {
      // The neighbour keeps both halves of its backward together where no schedule parts them.
      const SlotKind sent = slot.kind == SlotKind::kBackwardInput && !weights_apart(shape_.schedule)
                                ? SlotKind::kBackwardWeight
                                : slot.kind;
      needed = key(from->stage, {sent, slot.microbatch, from->chunk});
    } else if (slot.kind == SlotKind::kForward) {
      return 0.0;
    }
    const auto found = over_.find(needed);
    if (found == over_.end()) {
      return std::nullopt;
    }
    return found->second + (from && from->stage != stage ? transfer_ : 0.0);
  }

  const PipelineShape& shape_;
  const std::vector<PassTimes>& passes_;
  double transfer_;
  std::map<Key, double> over_;
};

// Stages unlike each other: the longest forward is the first's, the longest backward the last's.
std::vector<PassTimes> uneven_passes(const PipelineShape& shape) {
  std::vector<PassTimes> passes = equal_passes(shape, {1.0, 1.3, 0.9});
  passes.front() = {1.6, 0.8, 0.5};
  passes.back() = {1.2, 1.5, 1.1};
  return passes;
}

// The head's stage has little else: each chunk is longest on another stage than the last chunk is.
std::vector<PassTimes> lopsided_passes(const PipelineShape& shape) {
  std::vector<PassTimes> passes = equal_passes(shape, {1.0, 1.3, 0.9});
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    passes[passes.size() - 1 - static_cast<std::size_t>(chunk)] = {0.6, 0.8, 0.5};
  }
  passes.back() = {1.9, 2.4, 1.6};
  return passes;
}

// Of a long step only a part is played, and periods are added: within 1 % of all turns. A short one is played whole.
TEST(PipelinePlay, IsWhatEveryTurnOfEveryMicroBatchTakes) {
  PipelinePlay play;
  for (const ScheduleKind kind :
       {ScheduleKind::kGpipe, ScheduleKind::k1f1b, ScheduleKind::kInterleaved, ScheduleKind::kZeroBubbleH1,
        ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipe}) {
    const bool two =
        kind == ScheduleKind::kInterleaved || kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipe;
    for (const int stages : {2, 4, 8}) {
      for (const std::int64_t micro_batches : {stages, 2 * stages, 8 * stages, 32 * stages}) {
        const PipelineShape shape{kind, stages, two ? 2 : 1, micro_batches};
        const std::vector<std::vector<PassTimes>> all = {equal_passes(shape, {1.0, 1.3, 0.9}), uneven_passes(shape),
                                                         lopsided_passes(shape)};
        for (const std::vector<PassTimes>& passes : all) {
          for (const double transfer : {0.0, 0.05}) {
            const double turns = TurnByTurn(shape, passes, transfer).end();
            const double tolerance = micro_batches == stages ? 1e-9 : 0.01;
            EXPECT_NEAR(last(play.ends(shape, passes, transfer)) / turns, 1.0, tolerance)
                << to_string(kind) << ", " << stages << " stages, " << micro_batches << " micro-batches, "
                << (&passes - all.data()) << " of equal, uneven, lopsided; transfer " << transfer;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::simulator
