#include "core/program/free_list.h"

#include <algorithm>

#include "core/error.h"

namespace trainyard {

// Eight at a time: most don't fit, and the compiler compares them at once.
std::size_t FreeList::first_fit(std::int64_t size) const {
  constexpr std::size_t kAtOnce = 8;
  std::size_t run = 0;
  for (; run + kAtOnce <= run_size_.size(); run += kAtOnce) {
    bool any = false;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      any |= run_size_[run + i] >= size;
    }
    if (any) {
      break;
    }
  }
  while (run < run_size_.size() && run_size_[run] < size) {
    ++run;
  }
  return run;
}

FreeList::BlockId FreeList::take(std::int64_t size, LastTouch& waits) {
  if (size <= 0) {
    blocks_.push_back({end_, 0, kNone, kNone, false, {}});
    return static_cast<BlockId>(blocks_.size() - 1);
  }
  const std::size_t run = first_fit(size);
  if (run < run_size_.size()) {
    const BlockId block = run_first_[run];
    occupy(block, size, waits);
    if (run_size_[run] == size) {
      erase_run(run);
    } else {
      run_offset_[run] += size;
      run_size_[run] -= size;
      run_first_[run] = blocks_[block].behind;
    }
    return block;
  }
  if (!is_free(last_)) {
    return append(size);
  }
  // At the end of the arena, with the free run that lies there.
  const BlockId block = run_first_.back();
  const std::int64_t had = run_size_.back();
  occupy(block, had, waits);
  erase_run(run_size_.size() - 1);
  blocks_[block].size = size;
  end_ += size - had;
  return block;
}

// Of the free blocks from `first` on, which hold the size.
void FreeList::occupy(BlockId first, std::int64_t size, LastTouch& waits) {
  waits.merge(blocks_[first].touch);
  while (blocks_[first].size < size) {
    const BlockId next = blocks_[first].behind;
    check(is_free(next), "the free list covers what is taken from it");
    waits.merge(blocks_[next].touch);
    const std::int64_t part = std::min(size - blocks_[first].size, blocks_[next].size);
    blocks_[first].size += part;
    if (part == blocks_[next].size) {
      drop(next, first);
    } else {
      blocks_[next].offset += part;
      blocks_[next].size -= part;
    }
  }
  if (blocks_[first].size > size) {
    split(first, size);
  }
  blocks_[first].free = false;
}

// The rest is a free block of its own.
void FreeList::split(BlockId block, std::int64_t size) {
  BlockId rest = static_cast<BlockId>(blocks_.size());
  if (unused_.empty()) {
    blocks_.emplace_back();
  } else {
    rest = unused_.back();
    unused_.pop_back();
  }
  Block& first = blocks_[block];
  blocks_[rest] = {first.offset + size, first.size - size, block, first.behind, true, first.touch};
  (first.behind == kNone ? last_ : blocks_[first.behind].before) = rest;
  first.behind = rest;
  first.size = size;
}

// A block that has gone into the one before it.
void FreeList::drop(BlockId block, BlockId into) {
  const BlockId behind = blocks_[block].behind;
  blocks_[into].behind = behind;
  (behind == kNone ? last_ : blocks_[behind].before) = into;
  unused_.push_back(block);
}

FreeList::BlockId FreeList::append(std::int64_t size) {
  const auto made = static_cast<BlockId>(blocks_.size());
  blocks_.push_back({end_, size, last_, kNone, false, {}});
  if (last_ != kNone) {
    blocks_[last_].behind = made;
  }
  last_ = made;
  end_ += size;
  return made;
}

void FreeList::erase_run(std::size_t run) {
  const auto at = static_cast<std::ptrdiff_t>(run);
  run_offset_.erase(run_offset_.begin() + at);
  run_size_.erase(run_size_.begin() + at);
  run_first_.erase(run_first_.begin() + at);
}

void FreeList::give(BlockId block, const LastTouch& touch) {
  Block& given = blocks_[block];
  if (given.size == 0) {
    return;
  }
  given.free = true;
  given.touch = touch;
  const auto place = std::lower_bound(run_offset_.begin(), run_offset_.end(), given.offset) - run_offset_.begin();
  const auto behind = static_cast<std::size_t>(place);
  const bool joins_behind = is_free(given.behind);
  if (is_free(given.before)) {
    run_size_[behind - 1] += given.size + (joins_behind ? run_size_[behind] : 0);
    if (joins_behind) {
      erase_run(behind);
    }
  } else if (joins_behind) {
    run_offset_[behind] = given.offset;
    run_size_[behind] += given.size;
    run_first_[behind] = block;
  } else {
    run_offset_.insert(run_offset_.begin() + place, given.offset);
    run_size_.insert(run_size_.begin() + place, given.size);
    run_first_.insert(run_first_.begin() + place, block);
  }
}

}  // namespace trainyard
