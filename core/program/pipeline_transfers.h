// PipelineTransfers: sends and receives between the stages of a pipeline, and how long what is sent is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/program/stage_context.h"
#include "core/schedule/schedule.h"

namespace trainyard {

class PipelineTransfers {
 public:
  explicit PipelineTransfers(StageContext& stage);

  // chunk_number: global number of the chunk at the other end.
  InstructionId transfer(InstructionKind kind, Stream stream, const Place& place, BufferId buffer, int chunk_number);

  // A sent gradient is held until something shows that it was received: an activation that the previous
  // stage computed after the backward that used the gradient. So no reuse of memory ever waits for a send,
  // which could wait for a receive that waits for us.
  void hold_sent_gradient(BufferId buffer, const Place& place, int previous_chunk);
  void release_sent_gradients(InstructionId recv, const Place& place, int previous_chunk);
  // Those that nothing has shown to be received are held to the end of the step.
  void finish();

 private:
  std::uint64_t transfer_tag(const Place& place, Stream stream, int other_chunk) const;
  std::size_t slot_on_previous(SlotKind kind, int microbatch, int chunk_number) const;

  struct SentGradient {
    BufferId buffer;
    std::size_t used_at = 0;  // position in the previous stage's schedule
  };
  StageContext& stage_;
  std::vector<Slot> previous_schedule_;
  std::vector<SentGradient> sent_gradients_;
};

}  // namespace trainyard
