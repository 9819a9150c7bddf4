// The fastest few layouts seen so far, and the Pareto front of time and memory. Both are the same in whatever order
// layouts are added: equal times are ordered by place in the space.
#pragma once

#include <cstddef>
#include <vector>

#include "core/units/count.h"
#include "core/units/quantity.h"
#include "simulator/planner/ranked_layout.h"

namespace trainyard::simulator {

class BestLayouts {
 public:
  explicit BestLayouts(std::size_t keep) : keep_(keep) {}

  // Whether a layout this fast could be kept.
  bool takes(Seconds time) const { return heap_.size() < keep_ || time <= heap_.front().step.step_time; }
  void add(RankedLayout layout);
  std::vector<RankedLayout> sorted() const;  // fastest first

 private:
  std::size_t keep_;
  std::vector<RankedLayout> heap_;  // the slowest in front
};

// Points that no other is at least as fast and as small as; of equal points the first in the space.
class ParetoFront {
 public:
  // Whether some point is at least as fast and strictly smaller, or strictly faster and at least as small.
  bool beats(Seconds time, ByteCount memory) const;
  bool takes(Seconds time, ByteCount memory) const { return !beats(time, memory); }
  void add(const RankedLayout& layout);
  const std::vector<RankedLayout>& points() const { return points_; }  // fastest first, memory falling

 private:
  std::vector<RankedLayout> points_;
};

}  // namespace trainyard::simulator
