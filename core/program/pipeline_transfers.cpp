#include "core/program/pipeline_transfers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"

namespace trainyard {

bool faces_both_ways(ScheduleKind schedule) {
  return schedule == ScheduleKind::kZeroBubbleV || schedule == ScheduleKind::kDualPipe;
}

bool towards_first(ScheduleKind schedule, TransferKind what, int chunk) {
  const bool turned = faces_both_ways(schedule) && chunk == 1;
  return (what == TransferKind::kGradient) != turned;
}

std::vector<InboxItem> inbox_order(const Layout& layout, const std::vector<Slot>& slots, int sender, int receiver,
                                   bool towards_first_stage) {
  std::vector<InboxItem> order;
  for (const Slot& slot : slots) {
    const ChunkPlace at{sender, slot.chunk};
    std::optional<ChunkPlace> to;
    if (slot.kind == SlotKind::kForward) {
      to = next_place(layout.schedule, layout.pipeline, layout.chunks_per_stage, at);
    } else if (slot.kind == SlotKind::kBackwardInput) {
      to = previous_place(layout.schedule, layout.pipeline, layout.chunks_per_stage, at);
    }
    const auto what = slot.kind == SlotKind::kForward ? TransferKind::kActivation : TransferKind::kGradient;
    if (to && to->stage == receiver && towards_first(layout.schedule, what, to->chunk) == towards_first_stage) {
      order.push_back({what, slot.microbatch, to->chunk});
    }
  }
  return order;
}

std::uint64_t transfer_tag(const Layout& layout, TransferKind what, int microbatch, int own_chunk, int other_chunk) {
  const int boundaries = layout.pipeline * layout.chunks_per_stage;
  const int boundary = std::min(own_chunk, other_chunk);
  return (static_cast<std::uint64_t>(microbatch) * static_cast<std::uint64_t>(boundaries) +
          static_cast<std::uint64_t>(boundary)) *
             2 +
         (what == TransferKind::kGradient ? 1 : 0);
}

Communication PipelineTransfers::communication(CommunicationKind kind, TransferKind what, const Place& place,
                                               ChunkPlace other) const {
  Communication c;
  c.kind = kind;
  c.algorithm = CollectiveAlgorithm::kDirect;
  c.group = group_id(GroupKind::kPipeline);
  c.peer_stage = other.stage;
  c.tag =
      transfer_tag(stage_.layout, what, place.microbatch, stage_.chunks[static_cast<std::size_t>(place.chunk)].number,
                   model_chunk(stage_.layout.schedule, stage_.layout.pipeline, other));
  c.elements = stage_.stream_elements();
  c.type = stage_.layout.communication_type;
  c.reduction_type = stage_.layout.communication_type;
  c.payload = ByteCount(c.elements * size_of(c.type));
  c.extent = {.exact = true, .expected = c.payload, .maximum = c.payload};
  if (kind == CommunicationKind::kSend) {
    c.sent = c.payload;
    c.messages = 1;
  }
  return c;
}

InstructionId PipelineTransfers::send(TransferKind what, const Place& place, BufferId buffer, ChunkPlace other) {
  return stage_.build.add({.kind = InstructionKind::kSend,
                           .stream = towards_first(what, place.chunk) ? Stream::kSendBackward : Stream::kSendForward,
                           .microbatch = place.microbatch,
                           .chunk = place.chunk,
                           .reads = {buffer},
                           .communication = communication(CommunicationKind::kSend, what, place, other)});
}

PipelineTransfers::Received PipelineTransfers::post_receive(TransferKind what, const Place& place, ChunkPlace other) {
  const bool gradient = what == TransferKind::kGradient;
  const BufferId buffer =
      stage_.activation(gradient ? BufferContent::kResidualGrad : BufferContent::kResidual, stage_.stream_elements(),
                        gradient ? MemoryCause::kGradientFlow : MemoryCause::kBoundary);
  const InstructionId id =
      stage_.build.add({.kind = InstructionKind::kRecv,
                        .stream = towards_first(what, place.chunk) ? Stream::kRecvBackward : Stream::kRecvForward,
                        .microbatch = place.microbatch,
                        .chunk = place.chunk,
                        .writes = {buffer},
                        .communication = communication(CommunicationKind::kRecv, what, place, other)});
  return {buffer, id};
}

PipelineTransfers::Received PipelineTransfers::receive(TransferKind what, const Place& place, ChunkPlace other) {
  if (sampled_ || !faces_both_ways(stage_.layout.schedule)) {
    return post_receive(what, place, other);
  }
  Inbox& inbox = inbox_of(other.stage, towards_first(what, place.chunk));
  const InboxItem wanted{what, place.microbatch, place.chunk};
  while (!arrived_.contains(wanted)) {
    check(inbox.posted < inbox.order.size(), "the other stage sends what this one receives");
    const InboxItem next = inbox.order[inbox.posted++];
    const ChunkPlace from{other.stage, next.chunk};
    arrived_[next] = post_receive(next.what, {next.microbatch, next.chunk, std::nullopt}, from).buffer;
  }
  const BufferId buffer = arrived_.at(wanted);
  arrived_.erase(wanted);
  return {buffer, stage_.role.instructions.back().id};
}

PipelineTransfers::Inbox& PipelineTransfers::inbox_of(int sender, bool towards_first_stage) {
  const auto [entry, added] = inboxes_.try_emplace({sender, towards_first_stage});
  if (!added) {
    return entry->second;
  }
  entry->second.order = inbox_order(stage_.layout, schedule_of(sender), sender, stage_.key.stage, towards_first_stage);
  return entry->second;
}

// Position of a pass of the neighbouring chunk in the schedule of the stage that holds it.
std::size_t PipelineTransfers::slot_on(ChunkPlace previous, SlotKind kind, int microbatch) {
  const std::vector<Slot>& slots = schedule_of(previous.stage);
  const auto found = std::find(slots.begin(), slots.end(), Slot{kind, microbatch, previous.chunk});
  check(found != slots.end(), "the previous stage schedules every pass");
  return static_cast<std::size_t>(found - slots.begin());
}

const std::vector<Slot>& PipelineTransfers::schedule_of(int stage) {
  const auto [entry, added] = schedules_.try_emplace(stage);
  if (added) {
    entry->second = stage_schedule(stage_.layout.schedule, stage_.layout.pipeline, stage,
                                   stage_.layout.chunks_per_stage, static_cast<int>(stage_.layout.accumulation));
  }
  return entry->second;
}

void PipelineTransfers::hold_sent_gradient(BufferId buffer, const Place& place, ChunkPlace previous) {
  if (sampled_) {
    return;
  }
  sent_gradients_.push_back({buffer, previous.stage, slot_on(previous, SlotKind::kBackwardInput, place.microbatch)});
}

void PipelineTransfers::release_sent_gradients(InstructionId recv, const Place& place, ChunkPlace previous) {
  if (sampled_) {
    return;
  }
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
