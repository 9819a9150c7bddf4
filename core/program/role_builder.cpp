#include "core/program/role_builder.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace trainyard {

namespace {

bool same(const Segment& a, const Segment& b) {
  return a.kind == b.kind && a.adds_branch == b.adds_branch && a.forward == b.forward &&
         a.backward_input == b.backward_input && a.backward_weight == b.backward_weight;
}

std::size_t slot(Stream stream) { return static_cast<std::size_t>(stream); }

}  // namespace

SegmentId SegmentTable::intern(const Segment& segment) {
  const auto found =
      std::find_if(segments_.begin(), segments_.end(), [&](const Segment& s) { return same(s, segment); });
  if (found != segments_.end()) {
    return SegmentId(found - segments_.begin());
  }
  segments_.push_back(segment);
  return SegmentId(static_cast<std::int64_t>(segments_.size()) - 1);
}

BufferId RoleBuilder::add_buffer(Buffer buffer) {
  buffer.id = BufferId(static_cast<std::int64_t>(role_.buffers.size()));
  buffer.bytes = ByteCount(buffer.elements * size_of(buffer.type));
  role_.buffers.push_back(buffer);
  accesses_.emplace_back();
  return buffer.id;
}

BufferId RoleBuilder::transient(BufferContent content, MemoryCause cause, std::int64_t elements, DataType type) {
  return add_buffer({.content = content, .cause = cause, .type = type, .elements = elements, .persistent = false});
}

BufferId RoleBuilder::persistent(BufferContent content, MemoryCause cause, std::int64_t elements, DataType type,
                                 std::optional<BucketId> bucket) {
  return add_buffer(
      {.content = content, .cause = cause, .type = type, .elements = elements, .bucket = bucket, .persistent = true});
}

std::vector<Dependency> to_dependencies(const std::array<std::optional<InstructionId>, kStreams>& latest, Stream own) {
  std::vector<Dependency> waits;
  for (int stream = 0; stream < kStreams; ++stream) {
    const auto& instruction = latest[static_cast<std::size_t>(stream)];
    if (instruction && stream != static_cast<int>(own)) {
      waits.push_back({.instruction = *instruction});
    }
  }
  std::sort(waits.begin(), waits.end(),
            [](const Dependency& a, const Dependency& b) { return a.instruction < b.instruction; });
  return waits;
}

std::vector<Dependency> RoleBuilder::waits_of(const NewInstruction& instruction) const {
  std::array<std::optional<InstructionId>, kStreams> latest;
  const auto wait_for = [&](InstructionId id) {
    auto& last = latest[slot(role_.instructions[id.at()].stream)];
    if (!last || *last < id) {
      last = id;
    }
  };
  for (const std::vector<BufferId>* buffers : {&instruction.reads, &instruction.after}) {
    for (BufferId id : *buffers) {
      if (const auto& writer = accesses_[id.at()].writer) {
        wait_for(*writer);
      }
    }
  }
  for (BufferId id : instruction.writes) {
    if (const auto& writer = accesses_[id.at()].writer) {
      wait_for(*writer);
    }
    for (InstructionId reader : accesses_[id.at()].readers) {
      wait_for(reader);
    }
  }
  for (const InstructionId id : instruction.behind) {
    wait_for(id);
  }
  return to_dependencies(latest, instruction.stream);
}

Work RoleBuilder::work_of(const NewInstruction& instruction) const {
  Work work;
  const auto count = [&](const Operation& operation, bool accumulate) {
    work.flops += flops(operation);
    if (const auto* gemm = std::get_if<Gemm>(&operation); gemm != nullptr && accumulate) {
      Gemm accumulating = *gemm;
      accumulating.accumulate = true;
      work.bytes += bytes_moved(accumulating);
    } else {
      work.bytes += bytes_moved(operation);
    }
  };
  if (instruction.segment) {
    const Segment& segment = segments_.at(*instruction.segment);
    for (const Operation& operation : segment.operations(pass_of(instruction.kind))) {
      count(operation, instruction.accumulate);
    }
  }
  for (const Operation& operation : instruction.operations) {
    count(operation, false);
  }
  return work;
}

void RoleBuilder::touch(BufferId buffer, InstructionId by) {
  Accesses& accesses = accesses_[buffer.at()];
  if (!accesses.first) {
    accesses.first = by;
  }
  Buffer& b = role_.buffers[buffer.at()];
  if (!b.persistent) {
    if (!b.first_use) {
      b.first_use = by;
    }
    b.last_use = by;
  }
}

InstructionId RoleBuilder::add(NewInstruction instruction) {
  Instruction made;
  made.id = InstructionId(static_cast<std::int64_t>(role_.instructions.size()));
  made.waits = waits_of(instruction);
  made.work = work_of(instruction);
  for (BufferId id : instruction.reads) {
    touch(id, made.id);
    accesses_[id.at()].readers.push_back(made.id);
  }
  for (BufferId id : instruction.writes) {
    touch(id, made.id);
    accesses_[id.at()].writer = made.id;
    accesses_[id.at()].readers.clear();
  }
  made.kind = instruction.kind;
  made.stream = instruction.stream;
  made.microbatch = instruction.microbatch;
  made.chunk = instruction.chunk;
  made.layer = instruction.layer;
  made.segment = instruction.segment;
  made.bucket = instruction.bucket;
  made.accumulate = instruction.accumulate;
  made.reads = std::move(instruction.reads);
  made.writes = std::move(instruction.writes);
  made.operations = std::move(instruction.operations);
  made.communication = std::move(instruction.communication);
  role_.instructions.push_back(std::move(made));
  return role_.instructions.back().id;
}

void RoleBuilder::hold(BufferId buffer, InstructionId until) {
  Buffer& held = role_.buffers[buffer.at()];
  check(held.last_use && *held.last_use <= until, "a buffer is held until after its last use");
  held.last_use = until;
}

void RoleBuilder::close_step() {
  for (const Buffer& buffer : role_.buffers) {
    const Accesses& accesses = accesses_[buffer.id.at()];
    if (!buffer.persistent || !accesses.writer || !accesses.first) {
      continue;
    }
    Instruction& first = role_.instructions[accesses.first->at()];
    if (role_.instructions[accesses.writer->at()].stream == first.stream) {
      continue;
    }
    const Dependency wait{.instruction = *accesses.writer, .step_offset = -1};
    if (std::find(first.waits.begin(), first.waits.end(), wait) == first.waits.end()) {
      first.waits.push_back(wait);
    }
  }
}

}  // namespace trainyard
