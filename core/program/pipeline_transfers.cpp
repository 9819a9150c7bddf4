#include "core/program/pipeline_transfers.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace trainyard {

InstructionId PipelineTransfers::transfer(InstructionKind kind, Stream stream, const Place& place, BufferId buffer,
                                          ChunkPlace other) {
  Communication c;
  c.kind = kind == InstructionKind::kSend ? CommunicationKind::kSend : CommunicationKind::kRecv;
  c.algorithm = CollectiveAlgorithm::kDirect;
  c.group = group_id(GroupKind::kPipeline);
  c.peer_stage = other.stage;
  c.tag = transfer_tag(place, stream, other);
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
std::uint64_t PipelineTransfers::transfer_tag(const Place& place, Stream stream, ChunkPlace other) const {
  const bool backward = stream == Stream::kSendBackward || stream == Stream::kRecvBackward;
  const int own_chunk = stage_.chunks[static_cast<std::size_t>(place.chunk)].number;
  const int other_chunk = model_chunk(stage_.layout.schedule, stage_.layout.pipeline, other);
  const int boundaries = stage_.layout.pipeline * stage_.layout.chunks_per_stage;
  const int boundary = std::min(own_chunk, other_chunk);
  return (static_cast<std::uint64_t>(place.microbatch) * static_cast<std::uint64_t>(boundaries) +
          static_cast<std::uint64_t>(boundary)) *
             2 +
         (backward ? 1 : 0);
}

// Position of a pass of the neighbouring chunk in the schedule of the stage that holds it.
std::size_t PipelineTransfers::slot_on(ChunkPlace previous, SlotKind kind, int microbatch) {
  const auto [entry, added] = schedules_.try_emplace(previous.stage);
  if (added) {
    entry->second = stage_schedule(stage_.layout.schedule, stage_.layout.pipeline, previous.stage,
                                   stage_.layout.chunks_per_stage, static_cast<int>(stage_.layout.accumulation));
  }
  const Slot wanted{kind, microbatch, previous.chunk};
  const auto found = std::find(entry->second.begin(), entry->second.end(), wanted);
  check(found != entry->second.end(), "the previous stage schedules every pass");
  return static_cast<std::size_t>(found - entry->second.begin());
}

void PipelineTransfers::hold_sent_gradient(BufferId buffer, const Place& place, ChunkPlace previous) {
  sent_gradients_.push_back({buffer, previous.stage, slot_on(previous, SlotKind::kBackwardInput, place.microbatch)});
}

void PipelineTransfers::release_sent_gradients(InstructionId recv, const Place& place, ChunkPlace previous) {
  const std::size_t computed_at = slot_on(previous, SlotKind::kForward, place.microbatch);
  std::erase_if(sent_gradients_, [&](const SentGradient& sent) {
    const bool arrived = sent.stage == previous.stage && sent.used_at < computed_at;
    if (arrived) {
      stage_.build.hold(sent.buffer, recv);
    }
    return arrived;
  });
}

void PipelineTransfers::finish() {
  for (const SentGradient& sent : sent_gradients_) {
    stage_.build.hold(sent.buffer, stage_.role.instructions.back().id);
  }
}

}  // namespace trainyard
