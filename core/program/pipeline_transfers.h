// PipelineTransfers: sends and receives between the stages of a pipeline, and how long what is sent is held.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/program/stage_context.h"
#include "core/schedule/schedule.h"

namespace trainyard {

enum class TransferKind : std::uint8_t { kActivation, kGradient };

// What a stage gets from another on one stream, by kind, micro-batch and local chunk.
struct InboxItem {
  TransferKind what = TransferKind::kActivation;
  int microbatch = 0;
  int chunk = 0;
  friend auto operator<=>(const InboxItem&, const InboxItem&) = default;
};

// Whether this goes from the last stages to the first: gradients, and activations of a chunk placed backwards.
bool towards_first(ScheduleKind schedule, TransferKind what, int chunk);
// Whether two chunks of a stage face opposite ways.
bool faces_both_ways(ScheduleKind schedule);
// What `receiver` gets from `sender` in one direction, in the order in which the sender's slots make it.
std::vector<InboxItem> inbox_order(const Layout& layout, const std::vector<Slot>& slots, int sender, int receiver,
                                   bool towards_first_stage);
// The same number on both sides: which micro-batch crosses which boundary between chunks of the model, and which way.
std::uint64_t transfer_tag(const Layout& layout, TransferKind what, int microbatch, int own_chunk, int other_chunk);

class PipelineTransfers {
 public:
  // sampled: of some slots only. Receives are posted where they are used, and sent gradients aren't held.
  PipelineTransfers(StageContext& stage, bool sampled) : stage_(stage), sampled_(sampled) {}

  // Activations, or their gradients, to or from `other`: the chunk at the other end, on another stage.
  InstructionId send(TransferKind what, const Place& place, BufferId buffer, ChunkPlace other);
  // Where two chunks of a stage face opposite ways, both sides of a stream must agree on its order, or each would wait
  // for the other: receives are posted in the order in which the other side sends, ahead of their use if need be.
  struct Received {
    BufferId buffer;
    InstructionId known;  // an instruction behind which it has arrived
  };
  Received receive(TransferKind what, const Place& place, ChunkPlace other);

  // A sent gradient is held until something shows that it was received: an activation that the previous
  // stage computed after the backward that used the gradient. So no reuse of memory ever waits for a send,
  // which could wait for a receive that waits for us.
  void hold_sent_gradient(BufferId buffer, const Place& place, ChunkPlace previous);
  void release_sent_gradients(InstructionId recv, const Place& place, ChunkPlace previous);
  // Those that nothing has shown to be received are held to the end of the step.
  void finish();

 private:
  Communication communication(CommunicationKind kind, TransferKind what, const Place& place, ChunkPlace other) const;
  bool towards_first(TransferKind what, int chunk) const {
    return trainyard::towards_first(stage_.layout.schedule, what, chunk);
  }
  const std::vector<Slot>& schedule_of(int stage);
  std::size_t slot_on(ChunkPlace previous, SlotKind kind, int microbatch);
  Received post_receive(TransferKind what, const Place& place, ChunkPlace other);

  struct Inbox {
    std::vector<InboxItem> order;  // of the sender
    std::size_t posted = 0;
  };
  Inbox& inbox_of(int sender, bool towards_first);

  struct SentGradient {
    BufferId buffer;
    int stage = 0;            // that got it
    std::size_t used_at = 0;  // position in that stage's schedule
  };
  StageContext& stage_;
  bool sampled_;
  std::map<int, std::vector<Slot>> schedules_;  // of stages that were asked for
  std::vector<SentGradient> sent_gradients_;
  std::map<std::pair<int, bool>, Inbox> inboxes_;  // by sender and direction
  std::map<InboxItem, BufferId> arrived_;          // posted, not yet used
};

}  // namespace trainyard
