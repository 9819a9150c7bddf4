#include "simulator/planner/best_layouts.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace trainyard::simulator {

namespace {

auto key(const RankedLayout& layout) {
  return std::tuple(layout.step.step_time.si(), layout.block, layout.variant, layout.ordinal);
}

bool faster(const RankedLayout& a, const RankedLayout& b) { return key(a) < key(b); }

}  // namespace

void BestLayouts::add(RankedLayout layout) {
  if (keep_ == 0) {
    return;
  }
  if (heap_.size() == keep_) {
    if (!faster(layout, heap_.front())) {
      return;
    }
    std::ranges::pop_heap(heap_, faster);
    heap_.pop_back();
  }
  heap_.push_back(std::move(layout));
  std::ranges::push_heap(heap_, faster);
}

std::vector<RankedLayout> BestLayouts::sorted() const {
  std::vector<RankedLayout> result = heap_;
  std::ranges::sort(result, faster);
  return result;
}

// Points are ordered by time and, so, against memory: of those at least as fast, the last is the smallest.
bool ParetoFront::beats(Seconds time, ByteCount memory) const {
  const auto slower = std::partition_point(points_.begin(), points_.end(),
                                           [time](const RankedLayout& p) { return p.step.step_time <= time; });
  if (slower == points_.begin()) {
    return false;
  }
  const RankedLayout& point = *std::prev(slower);
  return point.memory.total < memory || (point.memory.total == memory && point.step.step_time < time);
}

void ParetoFront::add(const RankedLayout& layout) {
  if (beats(layout.step.step_time, layout.memory.total)) {
    return;
  }
  const auto equal = std::ranges::find_if(points_, [&](const RankedLayout& p) {
    return p.step.step_time == layout.step.step_time && p.memory.total == layout.memory.total;
  });
  if (equal != points_.end()) {
    if (faster(layout, *equal)) {
      *equal = layout;
    }
    return;
  }
  std::erase_if(points_, [&](const RankedLayout& p) {
    return p.step.step_time >= layout.step.step_time && p.memory.total >= layout.memory.total;
  });
  const auto at = std::partition_point(points_.begin(), points_.end(),
                                       [&](const RankedLayout& p) { return p.step.step_time < layout.step.step_time; });
  points_.insert(at, layout);
}

}  // namespace trainyard::simulator
