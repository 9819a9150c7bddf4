#include "core/program/operands.h"
#include "core/program/program.h"

namespace trainyard {

namespace {
std::optional<BufferId> find(const Role& role, const std::vector<BufferId>& ids, BufferContent content) {
  for (BufferId id : ids) {
    if (role.buffers[id.at()].content == content) {
      return id;
    }
  }
  return std::nullopt;
}
}  // namespace

std::optional<BufferId> find_read(const Role& role, const Instruction& instruction, BufferContent content) {
  return find(role, instruction.reads, content);
}

std::optional<BufferId> find_written(const Role& role, const Instruction& instruction, BufferContent content) {
  return find(role, instruction.writes, content);
}

Volumes volumes(const Role& role) {
  Volumes total;
  for (const Instruction& instruction : role.instructions) {
    total.flops += instruction.work.flops;
    if (instruction.communication) {
      const auto kind = static_cast<std::size_t>(instruction.communication->kind);
      total.sent[kind] += instruction.communication->sent;
      total.messages[kind] += instruction.communication->messages;
    }
  }
  return total;
}

MemoryProfile memory_profile(const Role& role) {
  MemoryProfile profile;
  std::vector<ByteCount> by_cause(kMemoryCauses);
  ByteCount live;
  const auto change = [&](const Buffer& buffer, bool begins) {
    auto& cause = by_cause[static_cast<std::size_t>(buffer.cause)];
    cause = begins ? cause + buffer.bytes : cause - buffer.bytes;
    live = begins ? live + buffer.bytes : live - buffer.bytes;
  };
  std::vector<std::vector<BufferId>> begins(role.instructions.size()), ends(role.instructions.size());
  for (const Buffer& buffer : role.buffers) {
    if (buffer.persistent) {
      change(buffer, true);
    } else if (buffer.first_use && buffer.last_use) {
      begins[buffer.first_use->at()].push_back(buffer.id);
      ends[buffer.last_use->at()].push_back(buffer.id);
    }
  }
  for (const Instruction& instruction : role.instructions) {
    for (BufferId id : begins[instruction.id.at()]) {
      change(role.buffers[id.at()], true);
    }
    profile.live.push_back(live);
    if (live > profile.peak) {
      profile.peak = live;
      profile.peak_at = instruction.id;
      profile.peak_by_cause = by_cause;
    }
    for (BufferId id : ends[instruction.id.at()]) {
      change(role.buffers[id.at()], false);
    }
  }
  return profile;
}

}  // namespace trainyard
