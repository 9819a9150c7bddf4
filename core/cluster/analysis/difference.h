// What two clusters don't have in common: devices by kind and type, vertices and links by name, hosts by shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

struct CountChange {
  std::string what;  // "gpu H100-SXM5"
  std::int64_t left = 0;
  std::int64_t right = 0;
};

struct LinkChange {
  std::string ends;  // "node0/nic0 - su0/leaf0"
  std::string left;  // what it is there; empty where it isn't
  std::string right;
};

// Hosts that both have, of another make.
struct ShapeChange {
  std::string what;  // "1 fewer: nic ConnectX-7"
  std::vector<std::string> hosts;
};

struct ClusterDifference {
  std::vector<CountChange> counts;     // only those that differ
  std::vector<std::string> only_left;  // names of vertices
  std::vector<std::string> only_right;
  std::vector<LinkChange> links;  // links between vertices that both have
  std::vector<ShapeChange> shapes;
  bool empty() const {
    return counts.empty() && only_left.empty() && only_right.empty() && links.empty() && shapes.empty();
  }
};

ClusterDifference difference(const Cluster& left, const Cluster& right);

}  // namespace trainyard
