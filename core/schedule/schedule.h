// Schedule: the order in which a pipeline stage runs the passes of its micro-batches.
//
// With p stages, m micro-batches, and times t_f, t_b, t_w of a forward, its input gradient and its weight gradient:
//   GPipe  all m forwards, then all m backwards in reverse: m micro-batches in flight (Narayanan et al. 2021, 2.2).
//   1F1B   stage s warms up with min(m, p - s - 1) forwards, then alternates forward and backward, then
//          drains: at most p - s in flight. Same bubble, (p-1) (t_f + t_b + t_w).
//   Interleaved  v chunks per stage; bubble divided by v. Micro-batches in groups of p: a group passes chunk 0,
//          then chunk 1, ...; backwards the other way. Stage s warms up with min(m v, 2 (p-s-1) + (v-1) p)
//          forwards (Megatron-LM, pipeline_parallel/schedules.py), then as 1F1B.
//   ZB-H1  1F1B whose stage s runs weight gradients s micro-batches late: p in flight on every stage, bubble
//          (p-1) (t_f + t_b - t_w) (Qi et al. 2023, section 2).
//   ZB-H2  warms up with 2 (p-s-1) forwards, weight gradients 2 s late: 2p - 1 in flight, no bubble but the fill,
//          (p-1) t_f, for equal passes.
//   ZB-V   two chunks a stage, the second placed backwards, so that the loss comes back to stage 0: no bubble but the
//          fill for equal passes, 2p half-sized chunks in flight (Qi et al. 2023, section "ZB-V").
//   DualPipe  micro-batches enter from both ends, half each; a stage holds the parameters of its own chunk and of its
//          mirror's. Bubble (p/2 - 1) (t_fb + t_b' - 3 t_w), t_b' = t_b + t_w, t_fb = t_f + t_b' where a forward
//          and a backward don't hide each other; p + 1 in flight (DeepSeek-V3, 2024, section 3.2.1).
// In the last four a weight gradient may run later than its input gradient: weights_apart().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/layout/layout.h"

namespace trainyard {

enum class SlotKind : std::uint8_t { kForward, kBackwardInput, kBackwardWeight };

struct Slot {
  SlotKind kind = SlotKind::kForward;
  int microbatch = 0;
  int chunk = 0;  // on this stage: 0 .. chunks_per_stage - 1
  friend bool operator==(const Slot&, const Slot&) = default;
};

// Whether weight gradients have slots of their own.
bool weights_apart(ScheduleKind kind);

// In the first three, a micro-batch's BackwardInput slot is followed at once by its BackwardWeight slot.
// Throws Error for kInterleaved with microbatches % stages != 0 or chunks == 1; for kZeroBubbleV and kDualPipe with
// other than 2 chunks, kDualPipe with an odd number of stages or micro-batches; for the others with chunks > 1.
std::vector<Slot> stage_schedule(ScheduleKind kind, int stages, int stage, int chunks, int microbatches);

// Micro-batches whose forward has run and whose weight gradient has not, at the worst moment; of each chunk for itself.
int peak_in_flight(const std::vector<Slot>& slots);

// Where a chunk of the model lies: a stage's local chunk.
struct ChunkPlace {
  int stage = 0;
  int chunk = 0;
  friend bool operator==(const ChunkPlace&, const ChunkPlace&) = default;
};

// How many chunks the model is cut into: stages x chunks, under DualPipe (two copies) stages.
int model_chunks(ScheduleKind kind, int stages, int chunks);
// Which of them a stage's local chunk is: 0 has the embedding, the last the loss.
int model_chunk(ScheduleKind kind, int stages, ChunkPlace place);
// Where a micro-batch goes from here in the forward pass, and where it came from; nothing at the ends.
std::optional<ChunkPlace> next_place(ScheduleKind kind, int stages, int chunks, ChunkPlace place);
std::optional<ChunkPlace> previous_place(ScheduleKind kind, int stages, int chunks, ChunkPlace place);
// Whether this micro-batch passes through this chunk: under DualPipe the first half passes local chunk 0, the others 1.
bool passes(ScheduleKind kind, int microbatches, int microbatch, int chunk);

}  // namespace trainyard
