// A cluster as boxes in rows, for drawing: tiers from the top down, hosts at the bottom.
//
// A row shows its devices one by one up to a limit; above it, each pod (or plane, or run of neighbours) is one box with
// a count. A cluster of a few hosts shows their insides: NICs, PCIe switches, CPUs, GPUs, NVSwitches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

struct Box {
  std::size_t row = 0;
  VertexKind kind = VertexKind::kLeaf;  // kGpu for a box of hosts
  bool hosts = false;
  std::string name;     // "su0", "leaf3", "node07"
  std::string detail;   // "8 leaves", "32 hosts, 256 GPUs"; may be empty
  double centre = 0.0;  // 0 to 1 of the drawing's width
  double width = 0.0;   // of its share of the row
};

struct Wire {
  std::size_t from = 0;  // box
  std::size_t to = 0;
  LinkKind kind = LinkKind::kCable;
  std::int64_t links = 0;  // cables, or buses
  BytesPerSecond bandwidth;
};

struct Row {
  std::string name;                // "leaf", "hosts"
  std::vector<std::string> notes;  // "32 x Quantum-2 QM9700", "1024 cables up, 51.2 TB/s", "1:1"
};

struct HostFrame {
  std::string name;
  double left = 0.0;
  double right = 0.0;
};

struct FoldedCluster {
  std::string title;
  std::vector<Row> rows;  // from the top
  std::vector<Box> boxes;
  std::vector<Wire> wires;
  std::vector<HostFrame> hosts;  // whose insides are shown
  std::size_t first_inside_row = 0;
  std::size_t columns = 1;  // boxes that the widest row has room for
};

FoldedCluster fold(const Cluster& cluster);

// Scalable Vector Graphics; colours of Okabe and Ito 2008, which people who see few colours can tell apart.
std::string to_svg(const FoldedCluster& folded);
// For Graphviz (`dot -Tsvg`).
std::string to_dot(const FoldedCluster& folded);

}  // namespace trainyard
