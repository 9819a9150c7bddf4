// RankedLayout: a layout that a search has priced, and where in its space it lies.
#pragma once

#include <cstdint>

#include "core/layout/layout.h"
#include "simulator/memory/memory_price.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

struct RankedLayout {
  Layout layout;
  StepPrice step;
  MemoryPrice memory;
  std::int64_t block = 0;  // place in the space: equal times keep its order
  std::int64_t variant = 0;
  std::int64_t ordinal = 0;
};

}  // namespace trainyard::simulator
