#include "core/program/arena.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/program/role_builder.h"

namespace trainyard {

namespace {

using LastTouch = std::array<std::optional<InstructionId>, kStreams>;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

void merge(LastTouch& into, const LastTouch& from) {
  for (std::size_t s = 0; s < into.size(); ++s) {
    if (from[s] && (!into[s] || *into[s] < *from[s])) {
      into[s] = from[s];
    }
  }
}

// Free memory below the high-water mark: offset -> size and who touched it last. Regions with unlike
// histories stay apart, so that reuse waits for no more than it must.
class FreeList {
 public:
  struct Region {
    std::int64_t size = 0;
    LastTouch touch;
  };

  // Lowest run of adjacent regions that holds `size`, or the end of the arena.
  std::int64_t take(std::int64_t size, LastTouch& waits) {
    std::int64_t begin = 0, run = 0;
    for (auto it = regions_.begin(); it != regions_.end(); ++it) {
      if (run == 0 || begin + run != it->first) {
        begin = it->first;
        run = 0;
      }
      run += it->second.size;
      if (run >= size) {
        carve(begin, size, waits);
        return begin;
      }
    }
    // Extend the arena, using a free run at its end.
    const std::int64_t offset = run > 0 && begin + run == end_ ? begin : end_;
    if (offset < end_) {
      carve(offset, end_ - offset, waits);
    }
    end_ = offset + size;
    return offset;
  }

  void give(std::int64_t offset, std::int64_t size, const LastTouch& touch) {
    if (size > 0) {
      regions_.emplace(offset, Region{size, touch});
    }
  }

  std::int64_t end() const { return end_; }

 private:
  void carve(std::int64_t offset, std::int64_t size, LastTouch& waits) {
    auto it = regions_.find(offset);
    std::int64_t left = size;
    while (left > 0) {
      check(it != regions_.end(), "the free list covers what is carved from it");
      merge(waits, it->second.touch);
      const Region region = it->second;
      const std::int64_t at = it->first;
      it = regions_.erase(it);
      if (region.size > left) {
        it = regions_.emplace_hint(it, at + left, Region{region.size - left, region.touch});
        return;
      }
      left -= region.size;
    }
  }

  std::map<std::int64_t, Region> regions_;
  std::int64_t end_ = 0;
};

// Waits of an instruction with those of reused memory added: per stream the latest only.
void add_waits(Role& role, Instruction& instruction, LastTouch touch) {
  std::vector<Dependency> other_steps;
  for (const Dependency& wait : instruction.waits) {
    if (wait.step_offset != 0) {
      other_steps.push_back(wait);
      continue;
    }
    LastTouch one;
    one[static_cast<std::size_t>(role.instructions[wait.instruction.at()].stream)] = wait.instruction;
    merge(touch, one);
  }
  instruction.waits = to_dependencies(touch, instruction.stream);
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
  for (Instruction& instruction : role.instructions) {
    LastTouch reused;
    const auto stream = static_cast<std::size_t>(instruction.stream);
    for (const auto* list : {&instruction.reads, &instruction.writes}) {
      for (BufferId id : *list) {
        Buffer& buffer = role.buffers[id.at()];
        if (!buffer.persistent && *buffer.first_use == instruction.id && !touch[id.at()][stream]) {
          buffer.arena_offset = free.take(aligned(buffer.bytes.value()), reused);
        }
        touch[id.at()][stream] = instruction.id;
      }
    }
    add_waits(role, instruction, reused);
    for (BufferId id : ends[instruction.id.at()]) {
      const Buffer& buffer = role.buffers[id.at()];
      free.give(buffer.arena_offset, aligned(buffer.bytes.value()), touch[id.at()]);
    }
  }
  role.arena_bytes = ByteCount(free.end());
}

}  // namespace trainyard
