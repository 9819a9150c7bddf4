#include "simulator/collective/algorithms/double_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace trainyard::simulator {
namespace {

int depth(const Parents& parents, int node) {
  int steps = 0;
  for (int at = node; parents[static_cast<std::size_t>(at)] >= 0; at = parents[static_cast<std::size_t>(at)]) {
    ++steps;
  }
  return steps;
}

std::vector<int> children(const Parents& parents) {
  std::vector<int> count(parents.size(), 0);
  for (const int parent : parents) {
    if (parent >= 0) {
      ++count[static_cast<std::size_t>(parent)];
    }
  }
  return count;
}

// For 8 nodes by the rule: 4's parent is 8, which isn't a node, so 4 ^ 4 = 0; 2: (2^2)|4 = 4; 6: 4|... = (6^2)|4 = 4;
// odd ones: 1 -> 2, 3 -> 2, 5 -> 6, 7 -> 6.
TEST(DoubleTree, EightNodesByTheRule) {
  EXPECT_EQ(double_tree(8)[0], (Parents{-1, 2, 4, 2, 0, 6, 4, 6}));
  EXPECT_EQ(double_tree(8)[1], (Parents{1, 3, 1, 7, 5, 3, 5, -1}));  // i renamed 7 - i
}

TEST(DoubleTree, BothAreBinaryTreesOfLogarithmicDepthAndNoNodeHasTwoChildrenInBoth) {
  for (const int n : {2, 3, 4, 5, 7, 8, 13, 16, 31, 64, 127, 1000}) {
    const auto trees = double_tree(n);
    for (const Parents& parents : trees) {
      EXPECT_EQ(std::count(parents.begin(), parents.end(), -1), 1) << n;
      for (int node = 0; node < n; ++node) {
        EXPECT_LE(depth(parents, node), std::ceil(std::log2(n)) + 1) << n;
      }
      const std::vector<int> count = children(parents);
      EXPECT_LE(*std::max_element(count.begin(), count.end()), 2) << n;
    }
    const std::vector<int> first = children(trees[0]);
    const std::vector<int> second = children(trees[1]);
    for (std::size_t node = 0; node < first.size(); ++node) {
      // Links of a node in both trees together: an inner node's three and a leaf's one; roots have fewer.
      EXPECT_LE(first[node] + second[node], 2) << n << " nodes, node " << node;
    }
  }
}

}  // namespace
}  // namespace trainyard::simulator
