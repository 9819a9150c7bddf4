#include "simulator/throughput/pipeline_turns.h"

#include <optional>
#include <utility>

#include "core/error.h"
#include "core/schedule/schedule.h"

namespace trainyard::simulator {

namespace {

class TurnWriter {
 public:
  explicit TurnWriter(const PipelineShape& shape)
      : shape_(shape),
        micro_batches_(static_cast<int>(shape.micro_batches)),
        turns_back_(shape.schedule == ScheduleKind::kZeroBubbleV || shape.schedule == ScheduleKind::kDualPipe) {
    backward_ = weights_apart(shape.schedule) ? SlotKind::kBackwardWeight : SlotKind::kBackwardInput;
    backwards_left_.assign(static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks), 0);
    for (int stage = 0; stage < shape.stages; ++stage) {
      schedule_.push_back(stage_schedule(shape.schedule, shape.stages, stage, shape.chunks, micro_batches_));
      for (const Slot& slot : schedule_.back()) {
        backwards_left_[index({stage, slot.chunk})] += slot.kind == backward_ ? 1 : 0;
      }
    }
    known_.assign(2 * static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks) *
                      static_cast<std::size_t>(micro_batches_),
                  0);
  }

  Turns write() {
    std::vector<std::size_t> next(schedule_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < schedule_.size(); ++stage) {
        // One at a time: turns of different stages don't wait for each other, and a processor plays several at once.
        if (next[stage] < schedule_[stage].size() && add(static_cast<int>(stage), schedule_[stage][next[stage]])) {
          ++next[stage];
          moved = true;
        }
      }
    }
    for (std::size_t stage = 0; stage < schedule_.size(); ++stage) {
      check(next[stage] == schedule_[stage].size(), "a schedule can be played");
    }
    return std::move(made_);
  }

 private:
  std::size_t index(ChunkPlace place) const {
    return static_cast<std::size_t>(place.stage) * static_cast<std::size_t>(shape_.chunks) +
           static_cast<std::size_t>(place.chunk);
  }

  std::uint32_t& known(ChunkPlace place, int micro_batch, bool backward) {
    return known_[2 * (index(place) * static_cast<std::size_t>(micro_batches_) +
                       static_cast<std::size_t>(micro_batch)) +
                  (backward ? 1U : 0U)];
  }

  // False: what it waits for hasn't come yet.
  bool add(int stage, const Slot& slot) {
    const ChunkPlace own{stage, slot.chunk};
    Turn turn;
    std::uint16_t link = 0;
    turn.where = static_cast<std::uint16_t>(4 * stage);
    turn.time = time_of(slot, own);
    if (slot.kind == SlotKind::kBackwardWeight) {
      if (backward_ == SlotKind::kBackwardWeight) {
        --backwards_left_[index(own)];
        push(turn, link);
      }
      return true;
    }
    const bool backward = slot.kind == SlotKind::kBackwardInput;
    const std::optional<ChunkPlace> from = backward
                                               ? next_place(shape_.schedule, shape_.stages, shape_.chunks, own)
                                               : previous_place(shape_.schedule, shape_.stages, shape_.chunks, own);
    if (from) {
      turn.after = known(*from, slot.microbatch, backward);
      const bool down = turns_back_ ? from->stage < stage : !backward;
      turn.where = static_cast<std::uint16_t>(turn.where + (from->stage != stage ? kCrosses : 0));
      link = static_cast<std::uint16_t>(2 * from->stage + (down ? 0 : 1));
    } else if (backward) {
      turn.after = known(own, slot.microbatch, false);
    }
    if ((from || backward) && turn.after == 0) {
      return false;
    }
    turn.where = static_cast<std::uint16_t>(turn.where + kAwaited);
    known(own, slot.microbatch, backward) = static_cast<std::uint32_t>(made_.places++);
    push(turn, link);
    backwards_left_[index(own)] -= slot.kind == backward_ ? 1 : 0;
    return true;
  }

  void push(const Turn& turn, std::uint16_t link) {
    made_.turns.push_back(turn);
    made_.links.push_back(link);
  }

  std::uint16_t time_of(const Slot& slot, ChunkPlace own) const {
    const bool last = slot.kind == backward_ && backwards_left_[index(own)] == 1;
    return static_cast<std::uint16_t>(index(own) * kPasses +
                                      static_cast<std::size_t>(last ? kLast : static_cast<int>(slot.kind)));
  }

  const PipelineShape& shape_;
  int micro_batches_;
  bool turns_back_;  // a chunk's forward runs towards the first stage
  std::vector<std::vector<Slot>> schedule_;
  SlotKind backward_ = SlotKind::kBackwardInput;  // that ends a micro-batch's work in a chunk
  std::vector<int> backwards_left_;               // by chunk
  std::vector<std::uint32_t> known_;
  Turns made_;
};

}  // namespace

Turns turns_of(const PipelineShape& shape) { return TurnWriter(shape).write(); }

}  // namespace trainyard::simulator
