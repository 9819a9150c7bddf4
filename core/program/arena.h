// Arena: where each transient buffer of a role lies, and the waits that reuse of memory needs.
//
// Buffers are placed in issue order, first-fit at the lowest free offset, and freed after their last use.
// A buffer that takes over memory last touched by another stream makes its first instruction wait for that
// touch: reuse is expressed as a dependency, so the simulator sees what it costs.
//
// A send completes only when its receiver has posted, so waiting for one can deadlock a pipeline. Program
// generation holds sent buffers until something received shows that they arrived: waits for sends are then
// always already over.
#pragma once

#include "core/program/program.h"

namespace trainyard {

constexpr std::int64_t kArenaAlignment = 256;

// What a buffer takes in the arena.
constexpr std::int64_t arena_size(ByteCount bytes) {
  return (bytes.value() + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// Sets arena_offset of every transient buffer, adds waits, sets role.arena_bytes.
// Cost: O((buffers + instructions) x free regions).
void place_buffers(Role& role);

}  // namespace trainyard
