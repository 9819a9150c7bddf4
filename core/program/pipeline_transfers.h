// PipelineTransfers: sends and receives between the stages of a pipeline, and how long what is sent is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/program/stage_context.h"
#include "core/schedule/schedule.h"

namespace trainyard {

class PipelineTransfers {
 public:
  explicit PipelineTransfers(StageContext& stage) : stage_(stage) {}

  // other: the chunk at the other end, on another stage.
  InstructionId transfer(InstructionKind kind, Stream stream, const Place& place, BufferId buffer, ChunkPlace other);

  // A sent gradient is held until something shows that it was received: an activation that the previous
  // stage computed after the backward that used the gradient. So no reuse of memory ever waits for a send,
  // which could wait for a receive that waits for us.
  void hold_sent_gradient(BufferId buffer, const Place& place, ChunkPlace previous);
  void release_sent_gradients(InstructionId recv, const Place& place, ChunkPlace previous);
  // Those that nothing has shown to be received are held to the end of the step.
  void finish();

 private:
  std::uint64_t transfer_tag(const Place& place, Stream stream, ChunkPlace other) const;
  std::size_t slot_on(ChunkPlace previous, SlotKind kind, int microbatch);

  struct SentGradient {
    BufferId buffer;
    int stage = 0;            // that got it
    std::size_t used_at = 0;  // position in that stage's schedule
  };
  StageContext& stage_;
  std::map<int, std::vector<Slot>> schedules_;  // of stages that were asked for
  std::vector<SentGradient> sent_gradients_;
};

}  // namespace trainyard
