#include "core/program/outline_writer.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace trainyard {

StageSchedules::StageSchedules(const Layout& layout)
    : chunks_(layout.chunks_per_stage), microbatches_(static_cast<std::size_t>(layout.accumulation)) {
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    slots_.push_back(stage_schedule(layout.schedule, layout.pipeline, stage, layout.chunks_per_stage,
                                    static_cast<int>(layout.accumulation)));
    std::vector<std::int32_t>& position = position_.emplace_back(passes(), -1);
    for (std::size_t i = 0; i < slots_.back().size(); ++i) {
      position[index(slots_.back()[i])] = static_cast<std::int32_t>(i);
    }
  }
}

OutlineWriter::OutlineWriter(const Layout& layout, const StageSchedules& schedules, const StageTemplate& from,
                             const Samples& samples, RoleOutline& to)
    : layout_(layout), schedules_(schedules), from_(from), samples_(samples), to_(to), placed_(schedules.passes()) {
  const auto chunks = static_cast<std::size_t>(layout.chunks_per_stage);
  template_slot_.assign(samples.microbatches.size() * 3 * chunks, kNone);
  for (std::size_t s = 0; s < from.slots.size(); ++s) {
    const TemplateSlot& slot = from.slots[s];
    template_slot_[(slot.sample * 3 + static_cast<std::size_t>(slot.slot.kind)) * chunks +
                   static_cast<std::size_t>(slot.slot.chunk)] = static_cast<std::uint32_t>(s);
  }
  std::uint32_t next = 0;
  for (const int sample : samples.of) {
    first_buffer_.push_back(next);
    next += from.buffer_counts[static_cast<std::size_t>(sample)];
  }
  first_buffer_.push_back(next);
  blocks_.resize(next + from.buffer_counts.back());
  live_ = from.persistent_bytes.value();
  for (std::size_t cause = 0; cause < by_cause_.size(); ++cause) {
    by_cause_[cause] = from.persistent_by_cause[cause].value();
  }
}

const TemplateSlot& OutlineWriter::slot_of(const Slot& slot) const {
  const auto sample = static_cast<std::size_t>(samples_.of[static_cast<std::size_t>(slot.microbatch)]);
  return from_.slots[template_slot_[(sample * 3 + static_cast<std::size_t>(slot.kind)) *
                                        static_cast<std::size_t>(layout_.chunks_per_stage) +
                                    static_cast<std::size_t>(slot.chunk)]];
}

void OutlineWriter::write() {
  const std::vector<Slot>& slots = schedules_.of(to_.role.stage);
  std::size_t instructions = from_.instructions.size() - from_.tail;
  for (const Slot& slot : slots) {
    instructions += slot_of(slot).end - slot_of(slot).first;
  }
  to_.instructions.reserve(instructions);
  to_.waits.reserve(instructions);
  for (const Slot& slot : slots) {
    write_slot(slot);
  }
  write_tail();
  write_memory();
}

void OutlineWriter::write_memory() {
  to_.arena_bytes = ByteCount(free_.end());
  to_.persistent_bytes = from_.persistent_bytes;
  to_.peak = ByteCount(peak_);
  for (std::size_t cause = 0; cause < peak_by_cause_.size(); ++cause) {
    to_.peak_by_cause[cause] = ByteCount(peak_by_cause_[cause]);
  }
}

void OutlineWriter::write_slot(const Slot& slot) {
  const TemplateSlot& of = slot_of(slot);
  if (of.receives) {
    receive(of, slot);
  }
  placed_[schedules_.index(slot)].first = static_cast<std::uint32_t>(to_.instructions.size());
  for (std::size_t example = of.first + (of.receives ? 1 : 0); example < of.end; ++example) {
    write_instruction(example, slot.microbatch);
    if (from_.role->instructions[example].kind == InstructionKind::kSend &&
        from_.role->instructions[example].communication->peer_stage) {
      add_transfer(example, slot);
    }
    end_buffers(example, slot.microbatch);
  }
}

void OutlineWriter::write_tail() {
  tail_ = static_cast<std::uint32_t>(to_.instructions.size());
  for (std::size_t example = from_.tail; example < from_.instructions.size(); ++example) {
    write_instruction(example, -1);
    end_buffers(example, -1);
  }
}

// The other end of a slot's receive or send.
ChunkPlace OutlineWriter::other_side(const Slot& slot, bool receives) const {
  const bool forward = slot.kind == SlotKind::kForward;
  const ChunkPlace here{to_.role.stage, slot.chunk};
  const auto place = forward == receives
                         ? previous_place(layout_.schedule, layout_.pipeline, layout_.chunks_per_stage, here)
                         : next_place(layout_.schedule, layout_.pipeline, layout_.chunks_per_stage, here);
  check(place.has_value(), "a transfer has another side");
  return *place;
}

void OutlineWriter::add_transfer(std::size_t example, const Slot& slot) {
  const bool receives = from_.role->instructions[example].kind == InstructionKind::kRecv;
  const ChunkPlace other = other_side(slot, receives);
  const auto what = slot.kind == SlotKind::kForward ? TransferKind::kActivation : TransferKind::kGradient;
  const int own = to_.role.chunks[static_cast<std::size_t>(slot.chunk)];
  to_.transfers.push_back(
      {static_cast<std::uint32_t>(to_.instructions.size() - 1), other.stage,
       transfer_tag(layout_, what, slot.microbatch, own, model_chunk(layout_.schedule, layout_.pipeline, other))});
}

void OutlineWriter::post_receive(const TemplateSlot& of, const Slot& slot) {
  placed_[schedules_.index(slot)].receive = static_cast<std::uint32_t>(to_.instructions.size());
  write_instruction(of.first, slot.microbatch);
  add_transfer(of.first, slot);
}

// As PipelineTransfers does: where chunks face both ways, in the order in which the other side sends.
void OutlineWriter::receive(const TemplateSlot& of, const Slot& slot) {
  const int sender = other_side(slot, true).stage;
  if (!faces_both_ways(layout_.schedule)) {
    post_receive(of, slot);
  } else if (placed_[schedules_.index(slot)].receive == kNone) {
    const auto what = slot.kind == SlotKind::kForward ? TransferKind::kActivation : TransferKind::kGradient;
    Inbox& inbox = inbox_of(sender, towards_first(layout_.schedule, what, slot.chunk));
    while (placed_[schedules_.index(slot)].receive == kNone) {
      check(inbox.posted < inbox.order.size(), "the other stage sends what this one receives");
      const InboxItem& next = inbox.order[inbox.posted++];
      const auto kind = next.what == TransferKind::kActivation ? SlotKind::kForward : SlotKind::kBackwardInput;
      const Slot used{kind, next.microbatch, next.chunk};
      post_receive(slot_of(used), used);
    }
  }
  end_buffers(of.first, slot.microbatch);  // held until something has come back
  if (slot.kind == SlotKind::kForward) {
    release_sent_gradients(slot, sender);
  }
}

OutlineWriter::Inbox& OutlineWriter::inbox_of(int sender, bool towards_first_stage) {
  for (Inbox& inbox : inboxes_) {
    if (inbox.sender == sender && inbox.towards_first == towards_first_stage) {
      return inbox;
    }
  }
  return inboxes_.emplace_back(
      Inbox{sender, towards_first_stage,
            inbox_order(layout_, schedules_.of(sender), sender, to_.role.stage, towards_first_stage), 0});
}

// What is referred to is of the same micro-batch, or of a chunk's first or last.
int OutlineWriter::microbatch_of(const TemplateSlot& of, int here) const {
  const bool same = here >= 0 && samples_.of[static_cast<std::size_t>(here)] == static_cast<int>(of.sample);
  return same ? here : samples_.microbatches[of.sample];
}

std::uint32_t OutlineWriter::resolve(const TemplateRef& ref, int microbatch) const {
  if (ref.slot == StageTemplate::kTail) {
    return tail_ + static_cast<std::uint32_t>(ref.offset);
  }
  const TemplateSlot& of = from_.slots[ref.slot];
  const Slot slot{of.slot.kind, microbatch_of(of, microbatch), of.slot.chunk};
  const Placed& placed = placed_[schedules_.index(slot)];
  return ref.receive ? placed.receive : placed.first + static_cast<std::uint32_t>(ref.offset);
}

std::size_t OutlineWriter::place_of(const TemplateBuffer& buffer, int microbatch) const {
  if (buffer.sample == samples_.microbatches.size()) {
    return first_buffer_.back() + buffer.number;
  }
  const bool same =
      microbatch >= 0 && samples_.of[static_cast<std::size_t>(microbatch)] == static_cast<int>(buffer.sample);
  const int of = same ? microbatch : samples_.microbatches[buffer.sample];
  return first_buffer_[static_cast<std::size_t>(of)] + buffer.number;
}

void OutlineWriter::write_instruction(std::size_t example, int microbatch) {
  LastTouch waits;
  start_buffers(example, microbatch, waits);
  const std::uint32_t begin = example == 0 ? 0 : from_.instructions[example - 1].waits_end;
  for (std::uint32_t w = begin; w < from_.instructions[example].waits_end; ++w) {
    waits.touch(from_.waits[w].stream, static_cast<std::int32_t>(resolve(from_.waits[w], microbatch)));
  }
  const auto own = static_cast<std::size_t>(from_.role->instructions[example].stream);
  const std::size_t first = to_.waits.size();
  for (std::size_t stream = 0; stream < static_cast<std::size_t>(kStreams); ++stream) {
    if (stream != own && waits[stream] >= 0) {
      to_.waits.push_back(static_cast<std::uint32_t>(waits[stream]));
    }
  }
  std::sort(to_.waits.begin() + static_cast<std::ptrdiff_t>(first), to_.waits.end());
  to_.instructions.push_back({static_cast<std::uint32_t>(example), static_cast<std::uint32_t>(to_.waits.size())});
}

void OutlineWriter::start_buffers(std::size_t example, int microbatch, LastTouch& reused) {
  const std::uint32_t begin = example == 0 ? 0 : from_.instructions[example - 1].starts_end;
  for (std::uint32_t s = begin; s < from_.instructions[example].starts_end; ++s) {
    const TemplateBuffer& buffer = from_.buffers[from_.starts[s]];
    blocks_[place_of(buffer, microbatch)] = free_.take(buffer.bytes, reused);
    change_live(buffer, buffer.live);
  }
  if (live_ > peak_) {
    peak_ = live_;
    peak_by_cause_ = by_cause_;
  }
}

void OutlineWriter::end_buffers(std::size_t example, int microbatch) {
  const std::uint32_t begin = example == 0 ? 0 : from_.instructions[example - 1].ends_end;
  for (std::uint32_t e = begin; e < from_.instructions[example].ends_end; ++e) {
    const std::uint32_t number = from_.ends[e];
    if (!from_.buffers[number].sent_gradient) {
      give(number, microbatch);
      continue;
    }
    const Slot slot{SlotKind::kBackwardInput, microbatch, *from_.role->instructions[example].chunk};
    const ChunkPlace to = other_side(slot, false);
    sent_.push_back({place_of(from_.buffers[number], microbatch), number, microbatch, to.stage,
                     schedules_.position(to.stage, {SlotKind::kBackwardInput, microbatch, to.chunk})});
  }
}

void OutlineWriter::give(std::uint32_t number, int microbatch) {
  const TemplateBuffer& buffer = from_.buffers[number];
  LastTouch touch;
  for (const TemplateRef& ref : buffer.touches) {
    touch.touch(ref.stream, static_cast<std::int32_t>(resolve(ref, microbatch)));
  }
  free_.give(blocks_[place_of(buffer, microbatch)], touch);
  change_live(buffer, -buffer.live);
}

void OutlineWriter::change_live(const TemplateBuffer& buffer, std::int64_t by) {
  live_ += by;
  by_cause_[static_cast<std::size_t>(buffer.cause)] += by;
}

void OutlineWriter::release_sent_gradients(const Slot& slot, int sender) {
  const ChunkPlace from = other_side(slot, true);
  const std::int32_t computed_at = schedules_.position(sender, {SlotKind::kForward, slot.microbatch, from.chunk});
  std::erase_if(sent_, [&](const SentGradient& sent) {
    const bool arrived = sent.stage == sender && sent.used_at < computed_at;
    if (arrived) {
      give(sent.of, sent.microbatch);
    }
    return arrived;
  });
}

}  // namespace trainyard
