// Two binary trees over the same nodes, such that no node has more than two children in both together.
//
//   parent in the first tree of node i > 0, with b = the lowest bit set in i:
//     (i ^ b) | 2b   if that is a node, else i ^ b;   node 0 is the root
//   the second is the first with nodes renamed: n-1-i for an even number of nodes, (i+1) mod n for an odd one
//
// Half the data goes by each, so that every node sends and receives at most twice the data of one way (as a leaf it
// sends S/2 up, as an inner node S/2 up and 2 S/2 down: 2 S in all): an all-reduce at full bandwidth in 2 log2 n steps.
// Source: Sanders, Speck, Traeff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and scan".
#pragma once

#include <array>
#include <vector>

namespace trainyard::simulator {

using Parents = std::vector<int>;  // by node; -1 at the root
std::array<Parents, 2> double_tree(int nodes);

}  // namespace trainyard::simulator
