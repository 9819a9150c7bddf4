// FreeList: an arena as blocks side by side, free or taken, and who touched the free ones last.
//
// Lowest fit: a buffer takes the lowest run of adjacent free blocks that holds it. Blocks with unlike histories stay
// apart, so that reuse waits for no more than it must; runs are listed beside them, where looking for one is quick.
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
  using BlockId = std::uint32_t;

  // A block for `size` bytes: of free ones, whose touches are added to `waits`, or at the end of the arena.
  BlockId take(std::int64_t size, LastTouch& waits);
  void give(BlockId block, const LastTouch& touch);

  std::int64_t offset(BlockId block) const { return blocks_[block].offset; }
  std::int64_t end() const { return end_; }

 private:
  static constexpr BlockId kNone = ~BlockId{0};
  struct Block {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    BlockId before = kNone;
    BlockId behind = kNone;
    bool free = false;
    LastTouch touch;
  };

  bool is_free(BlockId block) const { return block != kNone && blocks_[block].free; }
  std::size_t first_fit(std::int64_t size) const;
  void occupy(BlockId first, std::int64_t size, LastTouch& waits);
  void split(BlockId block, std::int64_t size);
  void drop(BlockId block, BlockId into);
  BlockId append(std::int64_t size);
  void erase_run(std::size_t run);

  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;  // places in blocks_
  BlockId last_ = kNone;
  // Runs of free blocks side by side, by rising offset.
  std::vector<std::int64_t> run_offset_;
  std::vector<std::int64_t> run_size_;
  std::vector<BlockId> run_first_;
  std::int64_t end_ = 0;
};

}  // namespace trainyard
