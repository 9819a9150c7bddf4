// A step of made-up slices in the shape of a real one, as large as wanted: for the benchmark and tests of scale.
#pragma once

#include <cstdint>

#include "gui/paint/timeline_rows.h"

namespace trainyard::gui {

// `ranks` measured ranks, each of a role of its own, on two streams: forwards and backwards of 100 to 900 ns with gaps
// between, gathers and reduces beside them. The same numbers each time.
TimelineSource synthetic_step(std::int64_t ranks, std::int64_t slices_each);

}  // namespace trainyard::gui
