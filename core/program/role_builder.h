// RoleBuilder: collects a role's buffers and instructions, and derives what ties them together.
//
// Dependencies come from the buffers: an instruction waits for the last writer of what it reads, and for the
// last writer and all readers of what it writes, when those run on other streams. Lifetimes come from use.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "core/program/program.h"

namespace trainyard {

// Segments of a whole program, each distinct one once.
class SegmentTable {
 public:
  SegmentId intern(const Segment& segment);
  std::vector<Segment> take() { return std::move(segments_); }
  const Segment& at(SegmentId id) const { return segments_[id.at()]; }

 private:
  std::vector<Segment> segments_;
};

// What to add; the builder gives it an id, waits and a place.
struct NewInstruction {
  InstructionKind kind = InstructionKind::kForward;
  Stream stream = Stream::kCompute;
  std::optional<int> microbatch;
  std::optional<int> chunk;
  std::optional<int> layer;
  std::optional<SegmentId> segment;
  std::optional<BucketId> bucket;
  bool accumulate = false;
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
  std::vector<BufferId> after = {};        // waits for their last writers without touching them
  std::vector<InstructionId> behind = {};  // waits for these: what they hand on lies in host memory
  std::vector<Operation> operations;
  std::optional<Communication> communication;
};

class RoleBuilder {
 public:
  RoleBuilder(Role& role, const SegmentTable& segments) : role_(role), segments_(segments) {}

  // A buffer that lives from its first use to its last.
  BufferId transient(BufferContent content, MemoryCause cause, std::int64_t elements, DataType type);
  // A buffer that lives from step to step.
  BufferId persistent(BufferContent content, MemoryCause cause, std::int64_t elements, DataType type,
                      std::optional<BucketId> bucket = {});

  InstructionId add(NewInstruction instruction);
  // Who wrote it last, so far.
  std::optional<InstructionId> writer(BufferId buffer) const { return accesses_[buffer.at()].writer; }
  // Keeps a transient buffer until this instruction, which doesn't touch it.
  void hold(BufferId buffer, InstructionId until);
  // The first use of each persistent buffer waits for the last write of the step before, on another stream.
  void close_step();

 private:
  struct Accesses {
    std::optional<InstructionId> writer;
    std::vector<InstructionId> readers;  // since that write
    std::optional<InstructionId> first;  // of the step
  };
  BufferId add_buffer(Buffer buffer);
  std::vector<Dependency> waits_of(const NewInstruction& instruction) const;
  Work work_of(const NewInstruction& instruction) const;
  void touch(BufferId buffer, InstructionId by);

  Role& role_;
  const SegmentTable& segments_;
  std::vector<Accesses> accesses_;  // by buffer
};

// Drops from `latest` (by stream) what a same-stream order already implies, and sorts.
std::vector<Dependency> to_dependencies(const std::array<std::optional<InstructionId>, kStreams>& latest, Stream own);

}  // namespace trainyard
