// Schedules run on a pipeline of stages that wait for each other's results.
#include "core/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/error.h"

namespace trainyard {
namespace {

struct Case {
  ScheduleKind kind;
  int stages;
  int chunks;
  int microbatches;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const int p : {1, 2, 3, 4, 7, 8}) {
    for (const int m : {1, 2, 3, 4, 5, 8, 13, 16}) {
      result.push_back({ScheduleKind::kGpipe, p, 1, m});
      result.push_back({ScheduleKind::k1f1b, p, 1, m});
    }
    for (const int v : {2, 3, 4}) {
      for (const int groups : {1, 2, 3, 5}) {
        result.push_back({ScheduleKind::kInterleaved, p, v, p * groups});
      }
    }
  }
  return result;
}

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << to_string(c.kind) << " p " << c.stages << " v " << c.chunks << " m " << c.microbatches;
}

std::vector<std::vector<Slot>> all_stages(const Case& c) {
  std::vector<std::vector<Slot>> result;
  for (int stage = 0; stage < c.stages; ++stage) {
    result.push_back(stage_schedule(c.kind, c.stages, stage, c.chunks, c.microbatches));
  }
  return result;
}

// Runs every stage's slots in its order, each when what it needs has finished. Global chunk g = chunk * p + stage:
// its forward needs that of g-1, its input gradient that of g+1 and its own forward, its weight gradient its input
// gradient. Returns when the last slot ends, nothing if the stages block each other.
struct Durations {
  int forward;
  int backward_input;
  int backward_weight;
};

class Pipeline {
 public:
  Pipeline(const Case& c, Durations durations) : case_(c), durations_(durations) {}

  std::optional<int> run() { return run(all_stages(case_)); }

  std::optional<int> run(const std::vector<std::vector<Slot>>& order) {
    std::vector<std::size_t> next(order.size());
    std::vector<int> clock(order.size());
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t s = 0; s < order.size(); ++s) {
        while (next[s] < order[s].size()) {
          const std::optional<int> end = run_slot(order[s][next[s]], static_cast<int>(s), clock[s]);
          if (!end) {
            break;
          }
          clock[s] = *end;
          ++next[s];
          moved = true;
        }
      }
    }
    for (std::size_t s = 0; s < order.size(); ++s) {
      if (next[s] < order[s].size()) {
        return std::nullopt;
      }
    }
    return *std::max_element(clock.begin(), clock.end());
  }

 private:
  using Key = std::tuple<SlotKind, int, int>;  // kind, micro-batch, global chunk

  // Latest of `start` and the end of a slot that must have finished.
  std::optional<int> after(std::optional<int> start, SlotKind kind, int microbatch, int chunk) const {
    const auto found = ended_.find(Key(kind, microbatch, chunk));
    return start && found != ended_.end() ? std::optional<int>(std::max(*start, found->second)) : std::nullopt;
  }

  std::optional<int> run_slot(const Slot& slot, int stage, int now) {
    const int chunk = slot.chunk * case_.stages + stage;
    const int last = case_.chunks * case_.stages - 1;
    std::optional<int> start = now;
    int duration = durations_.forward;
    if (slot.kind == SlotKind::kForward) {
      start = chunk > 0 ? after(start, SlotKind::kForward, slot.microbatch, chunk - 1) : start;
    } else if (slot.kind == SlotKind::kBackwardInput) {
      duration = durations_.backward_input;
      start = after(start, SlotKind::kForward, slot.microbatch, chunk);
      start = chunk < last ? after(start, SlotKind::kBackwardInput, slot.microbatch, chunk + 1) : start;
    } else {
      duration = durations_.backward_weight;
      start = after(start, SlotKind::kBackwardInput, slot.microbatch, chunk);
    }
    if (start) {
      ended_[Key(slot.kind, slot.microbatch, chunk)] = *start + duration;
      return *start + duration;
    }
    return std::nullopt;
  }

  Case case_;
  Durations durations_;
  std::map<Key, int> ended_;
};

TEST(Schedule, EverySlotRunsOnceAndNoStageBlocksAnother) {
  for (const Case& c : cases()) {
    for (const std::vector<Slot>& slots : all_stages(c)) {
      std::map<std::tuple<SlotKind, int, int>, int> count;
      for (const Slot& slot : slots) {
        ++count[{slot.kind, slot.microbatch, slot.chunk}];
      }
      EXPECT_EQ(slots.size(), static_cast<std::size_t>(3 * c.chunks * c.microbatches)) << c;
      EXPECT_EQ(count.size(), slots.size()) << c;
      for (const Slot& slot : slots) {
        EXPECT_TRUE(slot.microbatch >= 0 && slot.microbatch < c.microbatches && slot.chunk >= 0 &&
                    slot.chunk < c.chunks)
            << c;
      }
    }
    EXPECT_TRUE(Pipeline(c, {1, 1, 1}).run().has_value()) << c;
  }
}

TEST(Schedule, TheSimulationFindsAPipelineThatBlocks) {
  // Two stages of GPipe whose second runs its forwards in order 1, 0 and whose first wants gradient 0 before it runs
  // forward 1: each waits for the other.
  const Case c{ScheduleKind::k1f1b, 2, 1, 2};
  const auto slot = [](SlotKind kind, int microbatch) { return Slot{kind, microbatch, 0}; };
  const std::vector<std::vector<Slot>> blocked = {
      {slot(SlotKind::kForward, 0), slot(SlotKind::kBackwardInput, 0), slot(SlotKind::kForward, 1)},
      {slot(SlotKind::kForward, 1), slot(SlotKind::kForward, 0), slot(SlotKind::kBackwardInput, 0)}};
  EXPECT_FALSE(Pipeline(c, {1, 1, 1}).run(blocked).has_value());
}

TEST(Schedule, AMicroBatchsWeightGradientFollowsItsInputGradientAtOnce) {
  for (const Case& c : cases()) {
    for (const std::vector<Slot>& slots : all_stages(c)) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        if (slots[i].kind == SlotKind::kBackwardInput) {
          ASSERT_LT(i + 1, slots.size()) << c;
          EXPECT_EQ(slots[i + 1], (Slot{SlotKind::kBackwardWeight, slots[i].microbatch, slots[i].chunk})) << c;
        }
      }
    }
  }
}

TEST(Schedule, TheBubbleIsStagesMinusOneMicroBatchesOverTheChunks) {
  // Narayanan et al. 2021, 2.2: a stage works m (t_f + t_b); the pipeline takes (p-1) (t_f + t_b) more, over v when
  // interleaved. Times here are of one chunk, so that work is m v and the bubble p-1 times (t_f + t_b). The gradient
  // leaves a stage when the whole backward is done, so the backward is one piece.
  for (const Case& c : cases()) {
    if (c.kind == ScheduleKind::k1f1b || c.kind == ScheduleKind::kGpipe || c.microbatches >= c.stages) {
      for (const Durations d : {Durations{1, 1, 0}, Durations{1, 2, 0}}) {
        const int both = d.forward + d.backward_input;
        EXPECT_EQ(Pipeline(c, d).run(), (c.microbatches * c.chunks + c.stages - 1) * both) << c;
      }
    }
  }
}

TEST(Schedule, SendingTheInputGradientBeforeTheWeightGradientNeverTakesLonger) {
  for (const Case& c : cases()) {
    EXPECT_LE(Pipeline(c, {1, 1, 1}).run(), Pipeline(c, {1, 2, 0}).run()) << c;
  }
}

TEST(Schedule, OneForwardOneBackwardKeepsAtMostTheStagesAheadInFlight) {
  for (const Case& c : cases()) {
    for (int s = 0; s < c.stages; ++s) {
      const int in_flight = peak_in_flight(stage_schedule(c.kind, c.stages, s, c.chunks, c.microbatches));
      if (c.kind == ScheduleKind::k1f1b) {
        EXPECT_EQ(in_flight, std::min(c.microbatches, c.stages - s)) << c << " stage " << s;
      } else if (c.kind == ScheduleKind::kGpipe) {
        EXPECT_EQ(in_flight, c.microbatches) << c;
      } else {
        // Warm-up 2 (p-s-1) + (v-1) p, and the forward that follows it.
        EXPECT_EQ(in_flight,
                  std::min(c.microbatches * c.chunks, 2 * (c.stages - s - 1) + (c.chunks - 1) * c.stages + 1))
            << c << " stage " << s;
      }
    }
  }
}

// "F0 B0": the order of passes by micro-batch, chunks above 0 primed.
std::string text(const std::vector<Slot>& slots) {
  std::string result;
  for (const Slot& slot : slots) {
    if (slot.kind != SlotKind::kBackwardWeight) {
      result += slot.kind == SlotKind::kForward ? 'F' : 'B';
      result += std::to_string(slot.microbatch);
      result += std::string(static_cast<std::size_t>(slot.chunk), '\'') + " ";
    }
  }
  return result;
}

TEST(Schedule, SmallSchedulesAreThoseOfThePapers) {
  EXPECT_EQ(text(stage_schedule(ScheduleKind::kGpipe, 2, 0, 1, 3)), "F0 F1 F2 B2 B1 B0 ");
  // Stage 1 of 3 warms up with 3 - 1 - 1 = 1 forward, the last stage with none.
  EXPECT_EQ(text(stage_schedule(ScheduleKind::k1f1b, 3, 1, 1, 3)), "F0 F1 B0 F2 B1 B2 ");
  EXPECT_EQ(text(stage_schedule(ScheduleKind::k1f1b, 3, 2, 1, 3)), "F0 B0 F1 B1 F2 B2 ");
  // Stage 1 of 2, 2 chunks: warm-up 2 * 0 + 1 * 2 = 2; micro-batches in groups of 2.
  EXPECT_EQ(text(stage_schedule(ScheduleKind::kInterleaved, 2, 1, 2, 4)),
            "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3 ");
}

TEST(Schedule, WhatCannotBeScheduledIsAnErrorWithAWayOut) {
  for (const Case& c : {Case{ScheduleKind::kInterleaved, 4, 2, 6}, Case{ScheduleKind::kInterleaved, 4, 1, 8},
                        Case{ScheduleKind::k1f1b, 4, 2, 8}, Case{ScheduleKind::kGpipe, 4, 2, 8}}) {
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
