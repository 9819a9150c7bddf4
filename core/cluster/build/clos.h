// Folded Clos networks (fat trees) above the hosts: leaves, then spines, then cores.
//
//   two tiers    every leaf reaches every spine; spines = smallest divisor of a leaf's uplinks that has enough ports,
//                so that a leaf has the same number of cables to each (as NVIDIA's SuperPOD tables count)
//   three tiers  leaves in groups (a rail, a pod), each group with spines of its own that use half their ports
//                downwards; spine j of every group belongs to core plane j mod planes
//
// Sources: Leiserson 1985 (fat trees), Al-Fares et al. 2008 (three tiers of equal switches), and the counts of the
// DGX SuperPOD reference architectures that tests/core/cluster/builder_test.cpp lists.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/build/assembler.h"
#include "core/cluster/build/host.h"

namespace trainyard::build {

struct LeafPlan {
  int hosts_per_leaf = 32;
  bool rail_optimised = true;  // a leaf serves one rail; otherwise all NICs of its hosts
  std::string device;
  Cabling cabling;
  int leaves_per_pod = 0;    // of a rail, or of all where not rail-optimised; 0: the pod is the leaf's own group
  std::string pod = "pod";   // "su", "segment": names are pod2/leaf7
  std::optional<int> plane;  // of several equal networks, each NIC with one cable to each
};

// Leaves by rail (one list where not rail-optimised), in order of their hosts, cabled to the NICs.
using Leaves = std::vector<std::vector<VertexId>>;
Leaves add_leaves(Assembler& assembler, const std::vector<Host>& hosts, const LeafPlan& plan);

struct UpperPlan {
  int leaf_uplinks = 32;
  int spine_radix = 64;
  int core_radix = 64;
  double spine_oversubscription = 1.0;  // down to up, three tiers
  std::string spine_device;
  std::string core_device;
  Cabling leaf_spine;
  Cabling spine_core;
  std::string group = "group";  // names are group3/spine5
  std::string prefix;           // of all names, such as "plane2/"
  std::optional<int> plane;
};

// Spines that two tiers need; absent where the spines have too few ports to reach every leaf.
std::optional<int> two_tier_spines(int leaves, const UpperPlan& plan);

void add_two_tiers(Assembler& assembler, const std::vector<VertexId>& leaves, int spines, const UpperPlan& plan);
void add_three_tiers(Assembler& assembler, const std::vector<std::vector<VertexId>>& groups, const UpperPlan& plan);

// Two tiers over all leaves if they suffice, otherwise three with the lists as groups, cut to what spines can take.
// A single leaf gets nothing above it.
void add_upper_tiers(Assembler& assembler, const Leaves& leaves, const UpperPlan& plan);

}  // namespace trainyard::build
