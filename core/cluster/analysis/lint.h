// What looks wrong in a cluster, before anyone trains on it.
//
//   far_nic       a GPU whose nearest back-end NIC is beyond a PCIe switch: no GPUDirect, data bounces through the host
//   slow_nic      a NIC on fewer PCIe lanes or an older generation than most of its type, or than its cables need
//   uncabled_nic  a NIC without a cable, where most of its type have one
//   uneven_leaf   a switch with less bandwidth up than most of its tier and type: cables down or missing
//   wrong_rail    a NIC cabled to the leaf of another rail
//   odd_node      a host that differs from most: NCCL brings the whole job down to the worst host's channels
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"

namespace trainyard {

enum class LintKind : std::uint8_t { kFarNic, kSlowNic, kUncabledNic, kUnevenLeaf, kWrongRail, kOddNode };
constexpr int kLintKinds = 6;
std::string_view to_string(LintKind kind);

struct Finding {
  LintKind kind = LintKind::kFarNic;
  std::string what;                // one line, without the names
  std::vector<std::string> names;  // of the devices or hosts it was found at
};

// By kind; equal ones are one finding with all their names.
std::vector<Finding> lint(const Cluster& cluster, const ClusterGraph& graph);

}  // namespace trainyard
