// StageTemplate: the instructions of a pipeline stage for three micro-batches of each chunk, from which those of all
// are written out.
//
// The first micro-batch of a chunk makes its gradients, the ones between add to them, the last one finishes them; but
// for that, all do the same. Stages whose chunks are alike share a template.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/program/stage_generator.h"

namespace trainyard {

// An instruction of the template as seen from one of the same micro-batch, or from the end of the step.
struct TemplateRef {
  std::uint32_t slot = 0;   // of the template; kTail for what follows all slots
  std::int32_t offset = 0;  // from the slot's first instruction that isn't a receive
  bool receive = false;     // the slot's receive
  std::uint8_t stream = 0;
};

struct TemplateBuffer {
  std::uint32_t sample = 0;  // micro-batch of the template that it belongs to
  std::uint32_t number = 0;  // among those of that micro-batch
  std::int64_t bytes = 0;    // in the arena
  std::int64_t live = 0;     // its own
  MemoryCause cause = MemoryCause::kActivations;
  std::vector<TemplateRef> touches;  // the last on each stream
  bool sent_gradient = false;        // held until the other side has shown that it got it
};

struct TemplateInstruction {
  std::uint32_t waits_end = 0;   // into waits
  std::uint32_t starts_end = 0;  // into starts: buffers that it touches first, in order
  std::uint32_t ends_end = 0;    // into ends: buffers that it touches last
};

struct TemplateSlot {
  Slot slot;
  std::uint32_t sample = 0;
  std::size_t first = 0;  // instruction of the template
  std::size_t end = 0;
  bool receives = false;  // its first instruction does
};

struct StageTemplate {
  static constexpr std::uint32_t kTail = ~std::uint32_t{0};

  std::shared_ptr<const Role> role;  // the examples
  std::vector<TemplateSlot> slots;
  std::size_t tail = 0;  // first instruction behind all slots
  std::vector<TemplateInstruction> instructions;
  std::vector<TemplateRef> waits;
  std::vector<std::uint32_t> starts;  // into buffers
  std::vector<std::uint32_t> ends;
  std::vector<TemplateBuffer> buffers;       // transient ones
  std::vector<std::uint32_t> buffer_counts;  // by micro-batch of the template; the last are the tail's
  ByteCount persistent_bytes;
  std::vector<ByteCount> persistent_by_cause = std::vector<ByteCount>(kMemoryCauses);
};

// Which micro-batches of a stage stand for which.
struct Samples {
  std::vector<int> microbatches;  // that are sampled, of this stage
  std::vector<int> of;            // by micro-batch: which of them it is like
  std::vector<Slot> slots;        // to generate, of this stage
};

// Nothing where they can't be told, or are all: fewer than four in a chunk, chunks that finish in different orders.
std::optional<Samples> choose_samples(const Layout& layout, const std::vector<Slot>& schedule);

// What a template depends on: equal for stages that can share one.
std::vector<std::int64_t> template_signature(const Plan& plan, int stage, const Samples& samples);

// Nothing where an instruction between waits for another micro-batch.
std::optional<StageTemplate> make_template(const Plan& plan, int stage, const Samples& samples, SegmentTable& table);

}  // namespace trainyard
