#include "simulator/collective/hamiltonian_rings.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr int kMostGpus = 8;

// Depth-first over cycles, and over cycles that still fit beside those taken.
class CycleSearch {
 public:
  explicit CycleSearch(const std::vector<std::vector<int>>& links)
      : free_(links), gpus_(static_cast<int>(links.size())) {}

  int most() {
    // No more cycles than half the links of the GPU with the fewest.
    limit_ = kMostGpus;
    for (const std::vector<int>& row : free_) {
      int degree = 0;
      for (const int links : row) {
        degree += links;
      }
      limit_ = std::min(limit_, degree / 2);
    }
    extend(0, 0, 1U);
    return best_;
  }

 private:
  // `gpu` ends the path of cycle number `taken`, which has visited the bits of `seen` and began at GPU 0.
  void extend(int taken, int gpu, unsigned seen) {
    if (best_ == limit_) {
      return;
    }
    if (seen == (1U << static_cast<unsigned>(gpus_)) - 1U) {
      if (take(gpu, 0)) {
        best_ = std::max(best_, taken + 1);
        extend(taken + 1, 0, 1U);
        give(gpu, 0);
      }
      return;
    }
    for (int next = 1; next < gpus_; ++next) {
      const unsigned bit = 1U << static_cast<unsigned>(next);
      if ((seen & bit) == 0 && take(gpu, next)) {
        extend(taken, next, seen | bit);
        give(gpu, next);
      }
    }
  }

  bool take(int a, int b) {
    int& links = free_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
    if (links == 0) {
      return false;
    }
    --links;
    --free_[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)];
    return true;
  }

  void give(int a, int b) {
    ++free_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
    ++free_[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)];
  }

  std::vector<std::vector<int>> free_;
  int gpus_;
  int limit_ = 0;
  int best_ = 0;
};

}  // namespace

int edge_disjoint_cycles(const std::vector<std::vector<int>>& links) {
  check(links.size() >= 3 && links.size() <= kMostGpus, "cycles are searched over 3 to 8 GPUs");
  return CycleSearch(links).most();
}

std::vector<std::vector<int>> cube_mesh_links(int gpus) {
  check(gpus >= 2 && gpus <= kMostGpus, "a cube mesh has 2 to 8 GPUs");
  constexpr std::array<std::array<int, kMostGpus>, kMostGpus> kLinks = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                                         {1, 0, 2, 1, 0, 2, 0, 0},
                                                                         {1, 2, 0, 2, 0, 0, 1, 0},
                                                                         {2, 1, 2, 0, 0, 0, 0, 1},
                                                                         {2, 0, 0, 0, 0, 1, 1, 2},
                                                                         {0, 2, 0, 0, 1, 0, 2, 1},
                                                                         {0, 0, 1, 0, 1, 2, 0, 2},
                                                                         {0, 0, 0, 1, 2, 1, 2, 0}}};
  const auto size = static_cast<std::size_t>(gpus);
  std::vector<std::vector<int>> links(size, std::vector<int>(size, 0));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      links[i][j] = kLinks[i][j];
    }
  }
  return links;
}

int cube_mesh_rings(int gpus) {
  const std::vector<std::vector<int>> links = cube_mesh_links(gpus);
  return gpus == 2 ? links[0][1] : 2 * edge_disjoint_cycles(links);
}

}  // namespace trainyard::simulator
