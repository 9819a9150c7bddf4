// FreeList: free memory of an arena below its high-water mark, and who touched it last.
//
// Lowest fit: a buffer takes the lowest run of adjacent free regions that holds it. Regions with unlike histories stay
// apart, so that reuse waits for no more than it must.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/program/instruction.h"

namespace trainyard {

// By stream: the last instruction that touched it; -1 for none.
class LastTouch {
 public:
  LastTouch() { last_.fill(-1); }
  std::int32_t operator[](std::size_t stream) const { return last_[stream]; }
  void touch(std::size_t stream, std::int32_t instruction) {
    last_[stream] = instruction > last_[stream] ? instruction : last_[stream];
  }
  void merge(const LastTouch& other) {
    for (std::size_t s = 0; s < last_.size(); ++s) {
      touch(s, other.last_[s]);
    }
  }

 private:
  std::array<std::int32_t, kStreams> last_;
};

class FreeList {
 public:
  // Where `size` bytes go: into free regions, whose touches are added to `waits`, or at the end of the arena.
  std::int64_t take(std::int64_t size, LastTouch& waits);
  void give(std::int64_t offset, std::int64_t size, const LastTouch& touch);
  std::int64_t end() const { return end_; }

 private:
  struct Region {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::uint32_t touch = 0;  // into touches_
  };
  void carve(std::size_t first, std::int64_t size, LastTouch& waits);

  std::vector<Region> regions_;  // by offset
  std::vector<LastTouch> touches_;
  std::vector<std::uint32_t> unused_;  // places in touches_
  std::int64_t end_ = 0;
};

}  // namespace trainyard
