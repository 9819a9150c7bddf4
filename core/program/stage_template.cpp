#include "core/program/stage_template.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/model/layer_shape.h"
#include "core/program/arena.h"
#include "core/program/pipeline_transfers.h"

namespace trainyard {

namespace {

// Micro-batches of a chunk in the order in which they finish it.
std::vector<std::vector<int>> finishing_order(const Layout& layout, const std::vector<Slot>& schedule) {
  std::vector<std::vector<int>> order(static_cast<std::size_t>(layout.chunks_per_stage));
  for (const Slot& slot : schedule) {
    if (slot.kind == SlotKind::kBackwardWeight) {
      order[static_cast<std::size_t>(slot.chunk)].push_back(slot.microbatch);
    }
  }
  return order;
}

// First, one between, last.
constexpr std::size_t kFew = 4;
constexpr int kSampled = 3;

// Slots of a sample: forwards by chunk, backwards the other way, then weights.
void append_slots(std::vector<Slot>& slots, const std::vector<int>& chunks, int microbatch) {
  for (const int chunk : chunks) {
    slots.push_back({SlotKind::kForward, microbatch, chunk});
  }
  for (const SlotKind kind : {SlotKind::kBackwardInput, SlotKind::kBackwardWeight}) {
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
      slots.push_back({kind, microbatch, *chunk});
    }
  }
}

// Backwards and weights of the first and last micro-batches as the schedule has them: a table of two chunks has its
// first gradient from whichever comes first, and what ends a step waits for the latest.
void order_as_scheduled(std::vector<Slot>& slots, std::size_t from, const std::vector<Slot>& schedule) {
  const auto place = [&](const Slot& slot) {
    return slot.kind == SlotKind::kForward ? schedule.begin() : std::find(schedule.begin(), schedule.end(), slot);
  };
  std::stable_sort(slots.begin() + static_cast<std::ptrdiff_t>(from), slots.end(),
                   [&](const Slot& a, const Slot& b) { return place(a) < place(b); });
}

}  // namespace

std::optional<Samples> choose_samples(const Layout& layout, const std::vector<Slot>& schedule) {
  const std::vector<std::vector<int>> order = finishing_order(layout, schedule);
  const bool apart = layout.schedule == ScheduleKind::kDualPipe;  // a micro-batch passes one chunk
  for (const std::vector<int>& one : order) {
    if (one.size() < kFew) {
      return std::nullopt;
    }
    if (!apart && (one.front() != order.front().front() || one.back() != order.front().back())) {
      return std::nullopt;
    }
  }
  Samples samples;
  samples.of.assign(static_cast<std::size_t>(layout.accumulation), -1);
  std::vector<int> all(order.size());
  for (std::size_t chunk = 0; chunk < all.size(); ++chunk) {
    all[chunk] = static_cast<int>(chunk);
  }
  for (int sample = 0; sample < kSampled; ++sample) {
    const std::size_t from = samples.slots.size();
    for (std::size_t chunk = 0; chunk < (apart ? order.size() : 1); ++chunk) {
      const std::vector<int>& one = order[chunk];
      const auto of = static_cast<int>(samples.microbatches.size());
      const int chosen = sample == 0 ? one.front() : (sample == 1 ? one[1] : one.back());
      samples.microbatches.push_back(chosen);
      append_slots(samples.slots, apart ? std::vector<int>{static_cast<int>(chunk)} : all, chosen);
      for (const int microbatch : one) {
        const bool alike = sample == 1 ? microbatch != one.front() && microbatch != one.back() : microbatch == chosen;
        if (alike) {
          samples.of[static_cast<std::size_t>(microbatch)] = of;
        }
      }
    }
    if (sample == 0 || sample == kSampled - 1) {
      order_as_scheduled(samples.slots, from, schedule);
    }
  }
  return samples;
}

std::vector<std::int64_t> template_signature(const Plan& plan, int stage, const Samples& samples) {
  const Layout& layout = plan.layout;
  const ModelShape shape = model_shape(plan.model);
  std::vector<std::int64_t> signature;
  const auto side = [&](const std::optional<ChunkPlace>& place) {
    signature.push_back(!place ? 0 : (place->stage == stage ? 1 + place->chunk : -1));
  };
  const std::vector<Chunk> chunks = stage_chunks(plan.model, layout, stage);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const ChunkPlace place{stage, static_cast<int>(c)};
    side(next_place(layout.schedule, layout.pipeline, layout.chunks_per_stage, place));
    side(previous_place(layout.schedule, layout.pipeline, layout.chunks_per_stage, place));
    signature.push_back(chunks[c].embeds ? 1 : 0);
    signature.push_back(chunks[c].has_head ? 1 : 0);
    signature.push_back(chunks[c].layers.size());
    for (std::int64_t layer = chunks[c].layers.begin; layer < chunks[c].layers.end; ++layer) {
      signature.push_back(shape.kind_of_layer[static_cast<std::size_t>(layer)]);
    }
  }
  for (const Slot& slot : samples.slots) {
    const auto found = std::find(samples.microbatches.begin(), samples.microbatches.end(), slot.microbatch);
    signature.insert(signature.end(),
                     {static_cast<std::int64_t>(slot.kind), slot.chunk, found - samples.microbatches.begin()});
  }
  return signature;
}

namespace {

class TemplateMaker {
 public:
  TemplateMaker(const Plan& plan, const Samples& samples, const SampledRole& sampled)
      : plan_(plan), samples_(samples), role_(sampled.role) {
    made_.tail = sampled.first.back();
    slot_of_.assign(role_.instructions.size(), StageTemplate::kTail);
    for (std::size_t s = 0; s < samples.slots.size(); ++s) {
      TemplateSlot slot{samples.slots[s], sample_of(samples.slots[s].microbatch), sampled.first[s],
                        sampled.first[s + 1], false};
      slot.receives = slot.first < slot.end && role_.instructions[slot.first].kind == InstructionKind::kRecv;
      std::fill(slot_of_.begin() + static_cast<std::ptrdiff_t>(slot.first),
                slot_of_.begin() + static_cast<std::ptrdiff_t>(slot.end), static_cast<std::uint32_t>(s));
      made_.slots.push_back(slot);
    }
  }

  bool make() {
    number_buffers();
    for (const Instruction& instruction : role_.instructions) {
      add(instruction);
    }
    count_persistent();
    return foldable_;
  }
  StageTemplate take() { return std::move(made_); }

 private:
  std::uint32_t sample_of(int microbatch) const {
    const auto& all = samples_.microbatches;
    return static_cast<std::uint32_t>(std::find(all.begin(), all.end(), microbatch) - all.begin());
  }
  // The tail's are behind those of all micro-batches.
  std::uint32_t sample_at(InstructionId id) const {
    const std::uint32_t slot = slot_of_[id.at()];
    return slot == StageTemplate::kTail ? static_cast<std::uint32_t>(samples_.microbatches.size())
                                        : made_.slots[slot].sample;
  }
  // First and last micro-batch of a chunk are the same for all who refer to them.
  bool is_between(std::uint32_t sample) const {
    const auto each = samples_.microbatches.size() / static_cast<std::size_t>(kSampled);
    return sample >= each && sample < 2 * each;
  }

  TemplateRef ref(InstructionId id) const {
    const std::uint32_t slot = slot_of_[id.at()];
    TemplateRef made{slot, 0, false, static_cast<std::uint8_t>(role_.instructions[id.at()].stream)};
    const std::size_t first =
        slot == StageTemplate::kTail ? made_.tail : made_.slots[slot].first + (made_.slots[slot].receives ? 1 : 0);
    made.receive = slot != StageTemplate::kTail && id.at() < first;
    made.offset = made.receive ? 0 : static_cast<std::int32_t>(id.at() - first);
    return made;
  }

  void number_buffers() {
    made_.buffer_counts.assign(samples_.microbatches.size() + 1, 0);
    buffer_of_.assign(role_.buffers.size(), 0);
    for (const Buffer& buffer : role_.buffers) {
      if (buffer.persistent || !buffer.first_use) {
        continue;
      }
      buffer_of_[buffer.id.at()] = static_cast<std::uint32_t>(made_.buffers.size());
      TemplateBuffer placed;
      placed.sample = sample_at(*buffer.first_use);
      placed.number = made_.buffer_counts[placed.sample]++;
      placed.bytes = arena_size(buffer.bytes);
      placed.live = buffer.bytes.value();
      placed.cause = buffer.cause;
      made_.buffers.push_back(placed);
    }
    touched_.resize(made_.buffers.size());
  }

  void add(const Instruction& instruction) {
    const std::uint32_t here = sample_at(instruction.id);
    const auto same_or_fixed = [&](std::uint32_t there) {
      foldable_ = foldable_ && (there == here || !is_between(there));
      foldable_ = foldable_ && (there == here || !is_between(here));
    };
    for (const Dependency& wait : instruction.waits) {
      if (wait.step_offset == 0) {
        same_or_fixed(sample_at(wait.instruction));
        made_.waits.push_back(ref(wait.instruction));
      }
    }
    const auto stream = static_cast<std::uint8_t>(instruction.stream);
    for (const auto* list : {&instruction.reads, &instruction.writes}) {
      for (const BufferId id : *list) {
        const Buffer& buffer = role_.buffers[id.at()];
        if (buffer.persistent) {
          continue;
        }
        const std::uint32_t number = buffer_of_[id.at()];
        std::map<std::uint8_t, InstructionId>& touched = touched_[number];
        if (touched.empty()) {
          made_.starts.push_back(number);
        }
        touched[stream] = instruction.id;
        same_or_fixed(made_.buffers[number].sample);
      }
    }
    end_buffers(instruction);
    made_.instructions.push_back({static_cast<std::uint32_t>(made_.waits.size()),
                                  static_cast<std::uint32_t>(made_.starts.size()),
                                  static_cast<std::uint32_t>(made_.ends.size())});
  }

  void end_buffers(const Instruction& instruction) {
    if (ends_at_.empty()) {
      ends_at_.resize(role_.instructions.size());
      for (const Buffer& buffer : role_.buffers) {
        if (!buffer.persistent && buffer.last_use) {
          ends_at_[buffer.last_use->at()].push_back(buffer.id);
        }
      }
    }
    const bool sends_gradient = instruction.kind == InstructionKind::kSend && instruction.communication->peer_stage &&
                                slot_of_[instruction.id.at()] != StageTemplate::kTail &&
                                made_.slots[slot_of_[instruction.id.at()]].slot.kind == SlotKind::kBackwardInput;
    for (const BufferId id : ends_at_[instruction.id.at()]) {
      const std::uint32_t number = buffer_of_[id.at()];
      TemplateBuffer& buffer = made_.buffers[number];
      for (const auto& [stream, last] : touched_[number]) {
        buffer.touches.push_back(ref(last));
      }
      buffer.sent_gradient = sends_gradient && instruction.reads.front() == id;
      made_.ends.push_back(number);
    }
    // Held by a later use of its own: not as a sent gradient is.
    foldable_ =
        foldable_ && (!sends_gradient || made_.buffers[buffer_of_[instruction.reads.front().at()]].sent_gradient);
  }

  // Tokens are of all micro-batches of the step.
  void count_persistent() {
    for (const Buffer& buffer : role_.buffers) {
      if (buffer.persistent) {
        made_.persistent_bytes += buffer.bytes;
        made_.persistent_by_cause[static_cast<std::size_t>(buffer.cause)] += buffer.bytes;
      }
    }
  }

  const Plan& plan_;
  const Samples& samples_;
  const Role& role_;
  StageTemplate made_;
  bool foldable_ = true;
  std::vector<std::uint32_t> slot_of_;    // by instruction
  std::vector<std::uint32_t> buffer_of_;  // by buffer
  std::vector<std::map<std::uint8_t, InstructionId>> touched_;
  std::vector<std::vector<BufferId>> ends_at_;
};

}  // namespace

std::optional<StageTemplate> make_template(const Plan& plan, int stage, const Samples& samples, SegmentTable& table) {
  SampledRole sampled = sample_role(plan, {stage, 0, 0}, samples.slots, table);
  TemplateMaker maker(plan, samples, sampled);
  if (!maker.make()) {
    return std::nullopt;
  }
  StageTemplate made = maker.take();
  made.role = std::make_shared<const Role>(std::move(sampled.role));
  return made;
}

}  // namespace trainyard
