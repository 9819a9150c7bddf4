#include "simulator/throughput/pipeline_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/schedule/schedule.h"

namespace trainyard::simulator {
namespace {

// Four equal stages: forward 1 s, backward to inputs 1 s, to weights 1 s each.
StageTimes equal() { return {4_s, 4_s, 4_s, 3_s, 4}; }

TEST(Bubble, OneForwardOneBackwardWaitsForTheOtherStages) {
  // (pp - 1)(f + i + w) = 3 x 3 s.
  EXPECT_NEAR(bubble_time(ScheduleKind::k1f1b, 1, false, equal()).si(), 9.0, 1e-12);
  EXPECT_NEAR(bubble_time(ScheduleKind::kGpipe, 1, false, equal()).si(), 9.0, 1e-12);
}

TEST(Bubble, InterleavingDividesIt) {
  EXPECT_NEAR(bubble_time(ScheduleKind::kInterleaved, 3, false, equal()).si(), 3.0, 1e-12);
}

TEST(Bubble, WithPostValidationWeightGradientsFillItAsInQiEtAl) {
  // Table 1 there: ZB-H1 (p-1)(f + b - w) = 3 s, ZB-H2 (p-1)(f + b - 2w) = 0.
  EXPECT_NEAR(bubble_time(ScheduleKind::kZeroBubbleH1, 1, true, equal()).si(), 3.0, 1e-12);
  EXPECT_NEAR(bubble_time(ScheduleKind::kZeroBubbleH2, 1, true, equal()).si(), 0.0, 1e-12);
  EXPECT_NEAR(bubble_time(ScheduleKind::kZeroBubbleV, 2, true, equal()).si(), 0.0, 1e-12);
}

// The turns of all stages played out: a pass starts when its stage is free and the pass before it, on the neighbour, is
// over; transfers take no time. Passes of a whole stage; a chunk's are their share.
double makespan(ScheduleKind kind, int stages, int chunks, int micro_batches, double forward, double input,
                double weight) {
  const auto key = [&](ChunkPlace place, int micro_batch) {
    return (static_cast<std::size_t>(place.stage) * static_cast<std::size_t>(chunks) +
            static_cast<std::size_t>(place.chunk)) *
               static_cast<std::size_t>(micro_batches) +
           static_cast<std::size_t>(micro_batch);
  };
  const std::size_t passes = static_cast<std::size_t>(stages * chunks * micro_batches);
  std::vector<std::optional<double>> forward_end(passes), input_end(passes);
  std::vector<std::vector<Slot>> turns;
  for (int stage = 0; stage < stages; ++stage) {
    turns.push_back(stage_schedule(kind, stages, stage, chunks, micro_batches));
  }
  std::vector<std::size_t> next(turns.size(), 0);
  std::vector<double> clock(turns.size(), 0.0);
  const double share = kind == ScheduleKind::kDualPipe ? 1.0 : 1.0 / chunks;  // DualPipe's chunks are whole stages
  const auto play = [&](std::size_t stage) {
    const Slot& turn = turns[stage][next[stage]];
    const ChunkPlace place{static_cast<int>(stage), turn.chunk};
    std::optional<double> ready = 0.0;
    if (turn.kind == SlotKind::kForward) {
      const auto from = previous_place(kind, stages, chunks, place);
      ready = from ? forward_end[key(*from, turn.microbatch)] : ready;
    } else if (turn.kind == SlotKind::kBackwardInput) {
      const auto from = next_place(kind, stages, chunks, place);
      ready = from ? input_end[key(*from, turn.microbatch)] : forward_end[key(place, turn.microbatch)];
    }
    if (!ready) {
      return false;
    }
    const double time = turn.kind == SlotKind::kForward         ? forward
                        : turn.kind == SlotKind::kBackwardInput ? input
                                                                : weight;
    clock[stage] = std::max(clock[stage], *ready) + share * time;
    if (turn.kind == SlotKind::kForward) {
      forward_end[key(place, turn.microbatch)] = clock[stage];
    } else if (turn.kind == SlotKind::kBackwardInput) {
      input_end[key(place, turn.microbatch)] = clock[stage];
    }
    ++next[stage];
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < turns.size(); ++stage) {
      while (next[stage] < turns[stage].size() && play(stage)) {
        moved = true;
      }
    }
  }
  return *std::max_element(clock.begin(), clock.end());
}

TEST(Bubble, FormulasAreWhatTheTurnsTakeWhenPlayedOut) {
  struct Passes {
    double forward, input, weight;
  };
  for (const ScheduleKind kind : {ScheduleKind::kZeroBubbleH1, ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV,
                                  ScheduleKind::kDualPipe}) {
    const int chunks = kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipe ? 2 : 1;
    for (const int times_stages : kind == ScheduleKind::kDualPipe ? std::vector{2, 4} : std::vector{1, 2, 4}) {
      for (const Passes pass :
           {Passes{1, 1, 1}, {1, 1.1, 1}, {1, 1, 1.1}, {1, 1.36, 1.1}, {1, 1.3, 1.1}, {1, 1.5, 1}}) {
        for (const int stages : {4, 8, 16}) {
          const int micro_batches = times_stages * stages;
          const double work = micro_batches * (pass.forward + pass.input + pass.weight);
          const double played =
              makespan(kind, stages, chunks, micro_batches, pass.forward, pass.input, pass.weight) - work;
          const StageTimes times{from_si<Seconds>(stages * pass.forward),
                                 from_si<Seconds>(stages * pass.input),
                                 from_si<Seconds>(stages * pass.weight),
                                 from_si<Seconds>(pass.forward + pass.input + pass.weight),
                                 stages,
                                 static_cast<double>(micro_batches)};
          const double formula = bubble_time(kind, chunks, false, times).si();
          EXPECT_NEAR(formula, played, 0.04 * work / micro_batches * stages)
              << to_string(kind) << " of " << stages << " stages, passes " << pass.forward << ", " << pass.input << ", "
              << pass.weight;
        }
      }
    }
  }
}

TEST(Bubble, OneStageHasNone) {
  EXPECT_EQ(bubble_time(ScheduleKind::k1f1b, 1, false, {1_s, 1_s, 1_s, 3_s, 1}).si(), 0.0);
}

}  // namespace
}  // namespace trainyard::simulator
