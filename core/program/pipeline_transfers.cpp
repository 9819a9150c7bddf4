#include "core/program/pipeline_transfers.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace trainyard {

PipelineTransfers::PipelineTransfers(StageContext& stage)
    : stage_(stage),
      previous_schedule_(stage_schedule(stage.layout.schedule, stage.layout.pipeline,
                                        (stage.key.stage + stage.layout.pipeline - 1) % stage.layout.pipeline,
                                        stage.layout.chunks_per_stage, static_cast<int>(stage.layout.accumulation))) {}

InstructionId PipelineTransfers::transfer(InstructionKind kind, Stream stream, const Place& place, BufferId buffer,
                                          int chunk_number) {
  Communication c;
  c.kind = kind == InstructionKind::kSend ? CommunicationKind::kSend : CommunicationKind::kRecv;
  c.algorithm = CollectiveAlgorithm::kDirect;
  c.group = group_id(GroupKind::kPipeline);
  c.peer_stage = chunk_number % stage_.layout.pipeline;
  c.tag = transfer_tag(place, stream, chunk_number);
  c.elements = stage_.stream_elements();
  c.type = stage_.layout.communication_type;
  c.reduction_type = stage_.layout.communication_type;
  c.payload = ByteCount(c.elements * size_of(c.type));
  c.extent = {.exact = true, .expected = c.payload, .maximum = c.payload};
  NewInstruction made{.kind = kind, .stream = stream, .microbatch = place.microbatch, .chunk = place.chunk};
  if (kind == InstructionKind::kSend) {
    c.sent = c.payload;
    c.messages = 1;
    made.reads = {buffer};
  } else {
    made.writes = {buffer};
  }
  made.communication = c;
  return stage_.build.add(std::move(made));
}

// The same number on both sides: which micro-batch crosses which boundary between chunks, and which way.
std::uint64_t PipelineTransfers::transfer_tag(const Place& place, Stream stream, int other_chunk) const {
  const bool backward = stream == Stream::kSendBackward || stream == Stream::kRecvBackward;
  const int own_chunk = stage_.chunks[static_cast<std::size_t>(place.chunk)].number;
  const int boundaries = stage_.layout.pipeline * stage_.layout.chunks_per_stage;
  const int boundary = std::min(own_chunk, other_chunk);
  return (static_cast<std::uint64_t>(place.microbatch) * static_cast<std::uint64_t>(boundaries) +
          static_cast<std::uint64_t>(boundary)) *
             2 +
         (backward ? 1 : 0);
}

// Position of a pass of the neighbouring chunk in the schedule of the stage that holds it.
std::size_t PipelineTransfers::slot_on_previous(SlotKind kind, int microbatch, int chunk_number) const {
  const Slot wanted{kind, microbatch, chunk_number / stage_.layout.pipeline};
  const auto found = std::find(previous_schedule_.begin(), previous_schedule_.end(), wanted);
  check(found != previous_schedule_.end(), "the previous stage schedules every pass");
  return static_cast<std::size_t>(found - previous_schedule_.begin());
}

void PipelineTransfers::hold_sent_gradient(BufferId buffer, const Place& place, int previous_chunk) {
  sent_gradients_.push_back({buffer, slot_on_previous(SlotKind::kBackwardInput, place.microbatch, previous_chunk)});
}

void PipelineTransfers::release_sent_gradients(InstructionId recv, const Place& place, int previous_chunk) {
  const std::size_t computed_at = slot_on_previous(SlotKind::kForward, place.microbatch, previous_chunk);
  std::erase_if(sent_gradients_, [&](const SentGradient& sent) {
    if (sent.used_at < computed_at) {
      stage_.build.hold(sent.buffer, recv);
    }
    return sent.used_at < computed_at;
  });
}

void PipelineTransfers::finish() {
  for (const SentGradient& sent : sent_gradients_) {
    stage_.build.hold(sent.buffer, stage_.role.instructions.back().id);
  }
}

}  // namespace trainyard
