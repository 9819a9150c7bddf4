#include "simulator/collective/algorithms/double_tree.h"

#include <cstddef>

namespace trainyard::simulator {

namespace {

int parent_of(int node, int nodes) {
  if (node == 0) {
    return -1;
  }
  const int lowest = node & -node;
  const int without = node ^ lowest;
  const int parent = without | (lowest << 1);
  return parent < nodes ? parent : without;
}

}  // namespace

std::array<Parents, 2> double_tree(int nodes) {
  std::array<Parents, 2> trees;
  const auto renamed = [nodes](int node) { return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes; };
  for (Parents& parents : trees) {
    parents.assign(static_cast<std::size_t>(nodes), -1);
  }
  for (int node = 0; node < nodes; ++node) {
    const int parent = parent_of(node, nodes);
    trees[0][static_cast<std::size_t>(node)] = parent;
    trees[1][static_cast<std::size_t>(renamed(node))] = parent < 0 ? -1 : renamed(parent);
  }
  return trees;
}

}  // namespace trainyard::simulator
