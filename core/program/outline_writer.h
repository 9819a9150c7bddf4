// Writes out the instructions of one stage from its template, in the order of its schedule, and places their buffers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/program/free_list.h"
#include "core/program/outline.h"
#include "core/program/pipeline_transfers.h"
#include "core/program/stage_template.h"

namespace trainyard {

// Slots of every stage, and where each pass lies among them.
class StageSchedules {
 public:
  explicit StageSchedules(const Layout& layout);
  const std::vector<Slot>& of(int stage) const { return slots_[static_cast<std::size_t>(stage)]; }
  std::int32_t position(int stage, const Slot& slot) const {
    return position_[static_cast<std::size_t>(stage)][index(slot)];
  }
  // Of a pass of a stage.
  std::size_t index(const Slot& slot) const {
    return (static_cast<std::size_t>(slot.kind) * static_cast<std::size_t>(chunks_) +
            static_cast<std::size_t>(slot.chunk)) *
               microbatches_ +
           static_cast<std::size_t>(slot.microbatch);
  }
  std::size_t passes() const { return 3 * static_cast<std::size_t>(chunks_) * microbatches_; }

 private:
  int chunks_;
  std::size_t microbatches_;
  std::vector<std::vector<Slot>> slots_;
  std::vector<std::vector<std::int32_t>> position_;
};

class OutlineWriter {
 public:
  // All must outlive it.
  OutlineWriter(const Layout& layout, const StageSchedules& schedules, const StageTemplate& from,
                const Samples& samples, RoleOutline& to);
  void write();

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Where a template slot's first instruction that isn't a receive, and its receive, have got to; by pass.
  struct Placed {
    std::uint32_t first = kNone;
    std::uint32_t receive = kNone;
  };
  struct SentGradient {
    std::size_t buffer = 0;  // where its block is kept
    std::uint32_t of = 0;    // buffer of the template
    int microbatch = 0;
    int stage = 0;             // that got it
    std::int32_t used_at = 0;  // position in that stage's schedule
  };
  struct Inbox {
    int sender = 0;
    bool towards_first = false;
    std::vector<InboxItem> order;
    std::size_t posted = 0;
  };

  void write_slot(const Slot& slot);
  void write_tail();
  void receive(const TemplateSlot& of, const Slot& slot);
  void post_receive(const TemplateSlot& of, const Slot& slot);
  void write_instruction(std::size_t example, int microbatch);
  void add_transfer(std::size_t example, const Slot& slot);
  void start_buffers(std::size_t example, int microbatch, LastTouch& reused);
  void end_buffers(std::size_t example, int microbatch);
  void give(std::uint32_t buffer, int microbatch);
  void change_live(const TemplateBuffer& buffer, std::int64_t by);
  void write_memory();
  void release_sent_gradients(const Slot& slot, int sender);
  Inbox& inbox_of(int sender, bool towards_first_stage);

  const TemplateSlot& slot_of(const Slot& slot) const;
  int microbatch_of(const TemplateSlot& of, int here) const;
  std::uint32_t resolve(const TemplateRef& ref, int microbatch) const;
  std::size_t place_of(const TemplateBuffer& buffer, int microbatch) const;
  ChunkPlace other_side(const Slot& slot, bool receives) const;

  const Layout& layout_;
  const StageSchedules& schedules_;
  const StageTemplate& from_;
  const Samples& samples_;
  RoleOutline& to_;
  std::vector<std::uint32_t> template_slot_;  // by sample and pass of it: (sample * 3 + kind) * chunks + chunk
  std::vector<Placed> placed_;                // by pass
  std::uint32_t tail_ = 0;
  std::vector<std::uint32_t> first_buffer_;  // by micro-batch, and the tail's
  std::vector<FreeList::BlockId> blocks_;    // of buffers in the arena
  FreeList free_;
  std::int64_t live_ = 0;  // bytes, and by cause
  std::int64_t peak_ = 0;
  std::array<std::int64_t, kMemoryCauses> by_cause_{};
  std::array<std::int64_t, kMemoryCauses> peak_by_cause_{};
  std::vector<SentGradient> sent_;
  std::vector<Inbox> inboxes_;
};

}  // namespace trainyard
