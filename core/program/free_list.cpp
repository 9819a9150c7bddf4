#include "core/program/free_list.h"

#include <algorithm>

#include "core/error.h"

namespace trainyard {

std::int64_t FreeList::take(std::int64_t size, LastTouch& waits) {
  std::int64_t begin = 0;
  std::int64_t run = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (run == 0 || begin + run != regions_[i].offset) {
      begin = regions_[i].offset;
      run = 0;
      first = i;
    }
    run += regions_[i].size;
    if (run >= size) {
      carve(first, size, waits);
      return begin;
    }
  }
  // Extend the arena, using a free run at its end.
  const std::int64_t offset = run > 0 && begin + run == end_ ? begin : end_;
  if (offset < end_) {
    carve(first, end_ - offset, waits);
  }
  end_ = offset + size;
  return offset;
}

void FreeList::give(std::int64_t offset, std::int64_t size, const LastTouch& touch) {
  if (size <= 0) {
    return;
  }
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(touches_.size()));
    touches_.emplace_back();
  }
  const std::uint32_t at = unused_.back();
  unused_.pop_back();
  touches_[at] = touch;
  const auto place = std::lower_bound(regions_.begin(), regions_.end(), offset,
                                      [](const Region& region, std::int64_t o) { return region.offset < o; });
  regions_.insert(place, {offset, size, at});
}

void FreeList::carve(std::size_t first, std::int64_t size, LastTouch& waits) {
  std::size_t last = first;
  for (std::int64_t left = size; left > 0;) {
    check(last < regions_.size(), "the free list covers what is carved from it");
    Region& region = regions_[last];
    waits.merge(touches_[region.touch]);
    if (region.size > left) {
      region.offset += left;
      region.size -= left;
      break;
    }
    left -= region.size;
    unused_.push_back(region.touch);
    ++last;
  }
  regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(first),
                 regions_.begin() + static_cast<std::ptrdiff_t>(last));
}

}  // namespace trainyard
