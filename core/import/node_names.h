// Names inside an imported node: "node0/gpu3", each once.
#pragma once

#include <set>
#include <string>

#include "core/cluster/cluster.h"

namespace trainyard {

constexpr const char* kImportedNode = "node0";

inline std::string in_node(const std::string& name) { return std::string(kImportedNode) + "/" + name; }

// Gives a name back as it is the first time, then with "#2", "#3".
class UniqueNames {
 public:
  std::string name(const std::string& wanted);

 private:
  std::set<std::string> given_;
};

// Numbers the rails of each host: its NICs of the fastest rate (or all, where none is known), in their order.
void set_rails(Cluster& cluster);

// A leaf whose hosts' NICs are all of one rail serves that rail; others none.
void set_leaf_rails(Cluster& cluster);

}  // namespace trainyard
