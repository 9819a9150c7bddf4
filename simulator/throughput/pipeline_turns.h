// A pipeline's turns: the passes of all stages, in an order in which whatever a pass waits for comes before it, by the
// schedules of core/schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/throughput/pass_times.h"

namespace trainyard::simulator {

struct Turn {
  std::uint32_t after = 0;  // place of the pass that it waits for, among those that others wait for; 0 for none
  std::uint16_t time = 0;   // (stage x chunks + chunk) x 4 + pass
  std::uint16_t where = 0;  // stage x 4 + kCrosses + kAwaited
};
constexpr std::uint16_t kCrosses = 1;  // what it waits for comes from another stage
constexpr std::uint16_t kAwaited = 2;  // others wait for it: it has the next place

// Passes of a chunk: SlotKind's, and the last backward.
constexpr std::size_t kPasses = 4;
constexpr int kLast = 3;
constexpr std::size_t kMostChunks = 65536 / kPasses;

struct Turns {
  std::vector<Turn> turns;
  std::vector<std::uint16_t> links;  // by turn: that what it waits for comes over
  std::size_t places = 1;
};

// Throws Error where the schedule can't be played.
Turns turns_of(const PipelineShape& shape);

}  // namespace trainyard::simulator
