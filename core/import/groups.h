// Things joined into groups: union-find with path halving (Tarjan 1975).
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace trainyard {

class Groups {
 public:
  explicit Groups(std::size_t members) : above_(members) { std::iota(above_.begin(), above_.end(), std::size_t{0}); }

  std::size_t of(std::size_t member) {
    while (above_[member] != member) {
      above_[member] = above_[above_[member]];
      member = above_[member];
    }
    return member;
  }
  // The group keeps the smaller representative, so that groups are in the order of their first members.
  void join(std::size_t a, std::size_t b) {
    a = of(a);
    b = of(b);
    above_[a < b ? b : a] = a < b ? a : b;
  }

 private:
  std::vector<std::size_t> above_;
};

}  // namespace trainyard
