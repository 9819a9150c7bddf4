// Uneven stages found: layers moved off the stage that decides the step, while that makes the layout faster and it
// fits.
//
// The embedding, the loss and odd layer counts leave some stage with more than its share (Llama 3, section 3.3.2: first
// and last stage one layer less). One layer at a time goes from the slowest stage's fullest chunk to each other stage's
// emptiest; the best move is kept; the work is moves x stages.
#pragma once

#include "simulator/memory/memory_model.h"
#include "simulator/planner/layout_pricer.h"
#include "simulator/planner/ranked_layout.h"

namespace trainyard::simulator {

// The layout itself where no move helps. DualPipe, which needs mirrored chunks, stays as it is.
RankedLayout balanced_stages(const RankedLayout& layout, std::int64_t layers, const MemoryModel& memory,
                             LayoutPricer& pricer);

}  // namespace trainyard::simulator
