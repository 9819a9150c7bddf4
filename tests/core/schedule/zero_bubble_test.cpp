// Schedules with weight gradients apart: Qi et al. 2023 and DualPipe (DeepSeek-V3, 2024).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/schedule/schedule.h"

namespace trainyard {
namespace {

struct Case {
  ScheduleKind kind;
  int stages;
  int chunks;
  int microbatches;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << to_string(c.kind) << " p " << c.stages << " m " << c.microbatches;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const int p : {1, 2, 3, 4, 6, 8}) {
    for (const int m : {1, 2, 3, 4, 8, 16, 17, 40}) {
      result.push_back({ScheduleKind::kZeroBubbleH1, p, 1, m});
      result.push_back({ScheduleKind::kZeroBubbleH2, p, 1, m});
      result.push_back({ScheduleKind::kZeroBubbleV, p, 2, m});
      if (p % 2 == 0 && m % 2 == 0) {
        result.push_back({ScheduleKind::kDualPipe, p, 2, m});
      }
    }
  }
  return result;
}

// Runs every stage's slots in its order, each when what it needs has ended. Nothing if stages block each other.
class Pipeline {
 public:
  Pipeline(const Case& c, std::array<int, 3> durations) : case_(c), durations_(durations) {}

  std::optional<int> run() {
    std::vector<std::vector<Slot>> slots;
    for (int stage = 0; stage < case_.stages; ++stage) {
      slots.push_back(stage_schedule(case_.kind, case_.stages, stage, case_.chunks, case_.microbatches));
    }
    std::vector<std::size_t> next(slots.size());
    std::vector<int> clock(slots.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < slots.size(); ++s) {
        for (; next[s] < slots[s].size(); ++next[s], moved = true) {
          const std::optional<int> end = end_of(slots[s][next[s]], static_cast<int>(s), clock[s]);
          if (!end) {
            break;
          }
          clock[s] = *end;
        }
      }
    }
    for (std::size_t s = 0; s < slots.size(); ++s) {
      if (next[s] < slots[s].size()) {
        return std::nullopt;
      }
    }
    return *std::max_element(clock.begin(), clock.end());
  }

 private:
  using Key = std::tuple<SlotKind, int, int, int>;

  std::optional<int> ended(SlotKind kind, int microbatch, ChunkPlace at) const {
    const auto found = ended_.find(Key(kind, microbatch, at.stage, at.chunk));
    return found == ended_.end() ? std::nullopt : std::optional<int>(found->second);
  }

  std::optional<int> end_of(const Slot& slot, int stage, int now) {
    const ChunkPlace here{stage, slot.chunk};
    std::vector<std::optional<int>> needs;
    if (slot.kind == SlotKind::kForward) {
      if (const auto before = previous_place(case_.kind, case_.stages, case_.chunks, here)) {
        needs.push_back(ended(SlotKind::kForward, slot.microbatch, *before));
      }
    } else if (slot.kind == SlotKind::kBackwardInput) {
      needs.push_back(ended(SlotKind::kForward, slot.microbatch, here));
      if (const auto after = next_place(case_.kind, case_.stages, case_.chunks, here)) {
        needs.push_back(ended(SlotKind::kBackwardInput, slot.microbatch, *after));
      }
    } else {
      needs.push_back(ended(SlotKind::kBackwardInput, slot.microbatch, here));
    }
    int start = now;
    for (const std::optional<int>& need : needs) {
      if (!need) {
        return std::nullopt;
      }
      start = std::max(start, *need);
    }
    const int end = start + durations_[static_cast<std::size_t>(slot.kind)];
    ended_[Key(slot.kind, slot.microbatch, stage, slot.chunk)] = end;
    return end;
  }

  Case case_;
  std::array<int, 3> durations_;
  std::map<Key, int> ended_;
};

TEST(ZeroBubble, EveryPassOfEveryMicroBatchRunsOnceAndNoStageBlocksAnother) {
  for (const Case& c : cases()) {
    std::map<std::tuple<SlotKind, int, int>, int> runs;  // by kind, micro-batch, chunk of the model
    for (int stage = 0; stage < c.stages; ++stage) {
      for (const Slot& slot : stage_schedule(c.kind, c.stages, stage, c.chunks, c.microbatches)) {
        EXPECT_TRUE(passes(c.kind, c.microbatches, slot.microbatch, slot.chunk)) << c;
        ++runs[{slot.kind, slot.microbatch, model_chunk(c.kind, c.stages, {stage, slot.chunk})}];
      }
    }
    EXPECT_EQ(runs.size(), static_cast<std::size_t>(3 * c.microbatches * model_chunks(c.kind, c.stages, c.chunks)))
        << c;
    for (const auto& [slot, times] : runs) {
      EXPECT_EQ(times, 1) << c;
    }
    EXPECT_TRUE(Pipeline(c, {1, 1, 1}).run().has_value()) << c;
  }
}

TEST(ZeroBubble, NextAndPreviousPlaceAreInverseAndWalkTheModelInOrder) {
  for (const Case& c : cases()) {
    for (int stage = 0; stage < c.stages; ++stage) {
      for (int chunk = 0; chunk < c.chunks; ++chunk) {
        const ChunkPlace here{stage, chunk};
        const auto next = next_place(c.kind, c.stages, c.chunks, here);
        EXPECT_EQ(next.has_value(), model_chunk(c.kind, c.stages, here) + 1 < model_chunks(c.kind, c.stages, c.chunks))
            << c;
        if (next) {
          EXPECT_EQ(model_chunk(c.kind, c.stages, *next), model_chunk(c.kind, c.stages, here) + 1) << c;
          EXPECT_EQ(previous_place(c.kind, c.stages, c.chunks, *next), here) << c;
        }
      }
    }
  }
}

TEST(ZeroBubble, EqualPassesLeaveThePublishedBubble) {
  // Work of a stage: three passes a micro-batch (of two half chunks each under ZB-V, times here are of a chunk).
  // H1: (p-1)(1 + 1 - 1). H2: only the fill of the last stage, p-1. V: the fill, p-1 half-sized forwards.
  // DualPipe: the published (p/2-1)(3 + 2 - 3) sends a gradient after the whole backward; here it leaves before its
  // weight gradient, which leaves the fill of the middle stages, p/2-1.
  for (const Case& c : cases()) {
    if (c.microbatches < 2 * c.stages) {
      continue;
    }
    const std::optional<int> span = Pipeline(c, {1, 1, 1}).run();
    ASSERT_TRUE(span) << c;
    const bool halves = c.kind == ScheduleKind::kZeroBubbleV;
    const int fill = c.kind == ScheduleKind::kDualPipe ? c.stages / 2 - 1 : c.stages - 1;
    EXPECT_EQ(*span, 3 * (halves ? 2 : 1) * c.microbatches + fill) << c;
  }
}

TEST(ZeroBubble, InFlightPeaksAreThePublishedOnes) {
  for (const Case& c : cases()) {
    if (c.microbatches < 2 * c.stages) {
      continue;
    }
    for (int s = 0; s < c.stages; ++s) {
      const int peak = peak_in_flight(stage_schedule(c.kind, c.stages, s, c.chunks, c.microbatches));
      switch (c.kind) {
        case ScheduleKind::kZeroBubbleH1:
          EXPECT_EQ(peak, c.stages) << c << " stage " << s;
          break;
        case ScheduleKind::kZeroBubbleH2:
          EXPECT_EQ(peak, 2 * c.stages - 1) << c << " stage " << s;
          break;
        case ScheduleKind::kZeroBubbleV:
          EXPECT_EQ(peak, 2 * c.stages) << c << " stage " << s;
          break;
        default:
          EXPECT_EQ(peak, c.stages + 1) << c << " stage " << s;
      }
    }
  }
}

TEST(ZeroBubble, WhatCannotBeScheduledIsAnErrorWithAWayOut) {
  for (const Case& c : {Case{ScheduleKind::kZeroBubbleV, 4, 1, 8}, Case{ScheduleKind::kDualPipe, 4, 1, 8},
                        Case{ScheduleKind::kDualPipe, 3, 2, 8}, Case{ScheduleKind::kDualPipe, 4, 2, 7},
                        Case{ScheduleKind::kZeroBubbleH1, 4, 2, 8}}) {
    try {
      stage_schedule(c.kind, c.stages, 0, c.chunks, c.microbatches);
      ADD_FAILURE() << "accepted " << c;
    } catch (const Error& error) {
      EXPECT_EQ(error.where().rfind("layout.", 0), 0U);
      EXPECT_FALSE(error.hint().empty());
    }
  }
}

}  // namespace
}  // namespace trainyard
