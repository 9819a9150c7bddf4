// Lowest fit by blocks against lowest fit by looking at every byte's neighbour.
#include "core/program/free_list.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

namespace trainyard {
namespace {

// An arena cell by cell: who touched each free one last.
class Cells {
 public:
  std::int64_t take(std::int64_t size, LastTouch& waits) {
    std::size_t run = 0;
    std::size_t begin = 0;
    for (; begin + run < cells_.size() && run < static_cast<std::size_t>(size);) {
      if (cells_[begin + run]) {
        ++run;
      } else {
        begin += run + 1;
        run = 0;
      }
    }
    cells_.resize(std::max(cells_.size(), begin + static_cast<std::size_t>(size)));
    for (std::size_t i = begin; i < begin + static_cast<std::size_t>(size); ++i) {
      if (cells_[i]) {
        waits.merge(*cells_[i]);
      }
      cells_[i].reset();
    }
    return static_cast<std::int64_t>(begin);
  }
  void give(std::int64_t offset, std::int64_t size, const LastTouch& touch) {
    for (std::int64_t i = offset; i < offset + size; ++i) {
      cells_[static_cast<std::size_t>(i)] = touch;
    }
  }
  std::int64_t end() const { return static_cast<std::int64_t>(cells_.size()); }

 private:
  std::vector<std::optional<LastTouch>> cells_;
};

TEST(FreeList, TakesTheLowestFitAndWaitsForThoseWhoTouchedItLast) {
  struct Held {
    FreeList::BlockId block;
    std::int64_t size;
  };
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 engine(seed);
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine); };
    const std::vector<std::int64_t> sizes = {1, 2, 3, 5, 8, 13, 40};
    FreeList list;
    Cells cells;
    std::vector<Held> held;
    for (std::int32_t step = 0; step < 3000; ++step) {
      const bool grows = (step / 200) % 2 == 0;
      if (held.empty() || below(10) < (grows ? 6U : 4U)) {
        const std::int64_t size = sizes[below(sizes.size())];
        LastTouch by_list;
        LastTouch by_cells;
        held.push_back({list.take(size, by_list), size});
        ASSERT_EQ(list.offset(held.back().block), cells.take(size, by_cells)) << step;
        for (std::size_t stream = 0; stream < kStreams; ++stream) {
          ASSERT_EQ(by_list[stream], by_cells[stream]) << step;
        }
      } else {
        const std::size_t which = below(held.size());
        LastTouch touch;
        touch.touch(below(kStreams), step);
        cells.give(list.offset(held[which].block), held[which].size, touch);
        list.give(held[which].block, touch);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
      ASSERT_EQ(list.end(), cells.end());
    }
  }
}

TEST(FreeList, NothingTakesNoPlaceAndWaitsForNoOne) {
  FreeList list;
  LastTouch waits;
  LastTouch touched;
  touched.touch(0, 7);
  list.give(list.take(16, waits), touched);
  const FreeList::BlockId none = list.take(0, waits);
  list.give(none, {});
  EXPECT_EQ(waits[0], -1);
  EXPECT_EQ(list.end(), 16);
}

}  // namespace
}  // namespace trainyard
