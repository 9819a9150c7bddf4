#include "core/schedule/schedule.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/schedule/zero_bubble.h"

namespace trainyard {

namespace {

// One pass of one micro-batch through one chunk.
struct Turn {
  int microbatch = 0;
  int chunk = 0;
};

void push_forward(std::vector<Slot>& slots, Turn turn) {
  slots.push_back({SlotKind::kForward, turn.microbatch, turn.chunk});
}

void push_backward(std::vector<Slot>& slots, Turn turn) {
  slots.push_back({SlotKind::kBackwardInput, turn.microbatch, turn.chunk});
  slots.push_back({SlotKind::kBackwardWeight, turn.microbatch, turn.chunk});
}

// `warmup` forwards, then a forward and a backward in turn, then the backwards that remain. The two lists have
// the same length: the order of the forwards and that of the backwards.
std::vector<Slot> warm_up_alternate_drain(const std::vector<Turn>& forwards, const std::vector<Turn>& backwards,
                                          std::size_t warmup) {
  std::vector<Slot> slots;
  slots.reserve(3 * forwards.size());
  for (std::size_t i = 0; i < forwards.size(); ++i) {
    push_forward(slots, forwards[i]);
    if (i >= warmup) {
      push_backward(slots, backwards[i - warmup]);
    }
  }
  for (std::size_t i = forwards.size() - warmup; i < backwards.size(); ++i) {
    push_backward(slots, backwards[i]);
  }
  return slots;
}

std::vector<Turn> in_order(int microbatches) {
  std::vector<Turn> turns;
  for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
    turns.push_back({microbatch, 0});
  }
  return turns;
}

std::vector<Slot> gpipe(int microbatches) {
  const std::vector<Turn> forwards = in_order(microbatches);
  const std::vector<Turn> backwards(forwards.rbegin(), forwards.rend());
  return warm_up_alternate_drain(forwards, backwards, forwards.size());
}

std::vector<Slot> one_forward_one_backward(int stages, int stage, int microbatches) {
  const std::vector<Turn> turns = in_order(microbatches);
  return warm_up_alternate_drain(turns, turns, static_cast<std::size_t>(std::min(microbatches, stages - stage - 1)));
}

std::vector<Slot> interleaved(int stages, int stage, int chunks, int microbatches) {
  std::vector<Turn> forwards;
  std::vector<Turn> backwards;
  for (int first = 0; first < microbatches; first += stages) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int microbatch = first; microbatch < first + stages; ++microbatch) {
        forwards.push_back({microbatch, chunk});
        backwards.push_back({microbatch, chunks - 1 - chunk});
      }
    }
  }
  const std::int64_t warmup = std::int64_t{2} * (stages - stage - 1) + std::int64_t{chunks - 1} * stages;
  return warm_up_alternate_drain(forwards, backwards, std::min(forwards.size(), static_cast<std::size_t>(warmup)));
}

void require_interleavable(int stages, int chunks, int microbatches) {
  if (chunks < 2) {
    throw Error("the interleaved schedule has one chunk per stage", "layout.chunks_per_stage",
                "give at least 2 chunks per stage, or use the 1f1b schedule");
  }
  if (microbatches % stages != 0) {
    throw Error("the interleaved schedule has " + std::to_string(microbatches) + " micro-batches, not a multiple of " +
                    std::to_string(stages) + " stages",
                "layout.accumulation", "use a multiple of the pipeline stages, or the 1f1b schedule");
  }
}

void require_two_chunks(ScheduleKind kind, int stages, int chunks, int microbatches) {
  const std::string name(to_string(kind));
  if (chunks != 2) {
    throw Error("the " + name + " schedule runs two chunks per stage, not " + std::to_string(chunks),
                "layout.chunks_per_stage", "set chunks_per_stage to 2");
  }
  if (kind == ScheduleKind::kDualPipe && stages % 2 != 0) {
    throw Error("the dualpipe schedule has " + std::to_string(stages) + " stages, an odd number", "layout.pipeline",
                "use an even number of stages, or zb-v");
  }
  if (kind == ScheduleKind::kDualPipe && microbatches % 2 != 0) {
    throw Error("the dualpipe schedule has " + std::to_string(microbatches) + " micro-batches, an odd number",
                "layout.accumulation", "use an even number, half for each end of the pipeline");
  }
}

}  // namespace

bool weights_apart(ScheduleKind kind) {
  return kind == ScheduleKind::kZeroBubbleH1 || kind == ScheduleKind::kZeroBubbleH2 ||
         kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipe;
}

std::vector<Slot> stage_schedule(ScheduleKind kind, int stages, int stage, int chunks, int microbatches) {
  check(stages >= 1 && stage >= 0 && stage < stages, "stage of the pipeline");
  check(chunks >= 1 && microbatches >= 1, "a stage has chunks and micro-batches");
  const bool turns = kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipe;
  if (kind == ScheduleKind::kInterleaved) {
    require_interleavable(stages, chunks, microbatches);
  } else if (turns) {
    require_two_chunks(kind, stages, chunks, microbatches);
  } else if (chunks > 1) {
    throw Error(
        "the " + std::string(to_string(kind)) + " schedule runs one chunk per stage, not " + std::to_string(chunks),
        "layout.chunks_per_stage", "use the interleaved schedule");
  }
  switch (kind) {
    case ScheduleKind::kGpipe:
      return gpipe(microbatches);
    case ScheduleKind::k1f1b:
      return one_forward_one_backward(stages, stage, microbatches);
    case ScheduleKind::kInterleaved:
      return interleaved(stages, stage, chunks, microbatches);
    case ScheduleKind::kZeroBubbleH1:
      return zero_bubble_h(1, stages, stage, microbatches);
    case ScheduleKind::kZeroBubbleH2:
      return zero_bubble_h(2, stages, stage, microbatches);
    case ScheduleKind::kZeroBubbleV:
      return zero_bubble_v(stages, stage, microbatches);
    case ScheduleKind::kDualPipe:
      return dual_pipe(stages, stage, microbatches);
  }
  check(false, "unknown schedule");
  return {};
}

int peak_in_flight(const std::vector<Slot>& slots) {
  int in_flight = 0;
  int peak = 0;
  for (const Slot& slot : slots) {
    if (slot.kind == SlotKind::kForward) {
      peak = std::max(peak, ++in_flight);
    } else if (slot.kind == SlotKind::kBackwardWeight) {
      --in_flight;
    }
  }
  return peak;
}

}  // namespace trainyard
