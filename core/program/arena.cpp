#include "core/program/arena.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/program/free_list.h"
#include "core/program/role_builder.h"

namespace trainyard {

namespace {

// Waits of an instruction with those of reused memory added: per stream the latest only.
void add_waits(Role& role, Instruction& instruction, LastTouch touch) {
  std::vector<Dependency> other_steps;
  for (const Dependency& wait : instruction.waits) {
    if (wait.step_offset != 0) {
      other_steps.push_back(wait);
      continue;
    }
    touch.touch(static_cast<std::size_t>(role.instructions[wait.instruction.at()].stream), wait.instruction.value());
  }
  std::array<std::optional<InstructionId>, kStreams> latest;
  for (std::size_t s = 0; s < latest.size(); ++s) {
    if (touch[s] >= 0) {
      latest[s] = InstructionId(touch[s]);
    }
  }
  instruction.waits = to_dependencies(latest, instruction.stream);
  instruction.waits.insert(instruction.waits.end(), other_steps.begin(), other_steps.end());
}

}  // namespace

void place_buffers(Role& role) {
  std::vector<LastTouch> touch(role.buffers.size());
  std::vector<std::vector<BufferId>> ends(role.instructions.size());
  for (const Buffer& buffer : role.buffers) {
    if (buffer.persistent) {
      role.persistent_bytes += buffer.bytes;
    } else if (buffer.last_use) {
      ends[buffer.last_use->at()].push_back(buffer.id);
    }
  }
  FreeList free;
  std::vector<FreeList::BlockId> block(role.buffers.size());
  for (Instruction& instruction : role.instructions) {
    LastTouch reused;
    const auto stream = static_cast<std::size_t>(instruction.stream);
    for (const auto* list : {&instruction.reads, &instruction.writes}) {
      for (BufferId id : *list) {
        Buffer& buffer = role.buffers[id.at()];
        if (!buffer.persistent && *buffer.first_use == instruction.id && touch[id.at()][stream] < 0) {
          block[id.at()] = free.take(arena_size(buffer.bytes), reused);
          buffer.arena_offset = free.offset(block[id.at()]);
        }
        touch[id.at()].touch(stream, instruction.id.value());
      }
    }
    add_waits(role, instruction, reused);
    for (BufferId id : ends[instruction.id.at()]) {
      free.give(block[id.at()], touch[id.at()]);
    }
  }
  role.arena_bytes = ByteCount(free.end());
}

}  // namespace trainyard
