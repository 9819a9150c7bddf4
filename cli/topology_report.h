// What `trainyard topology` says of a cluster: the analyses of core/cluster/analysis, gathered.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/analysis/bisection.h"
#include "core/cluster/analysis/cut_points.h"
#include "core/cluster/analysis/difference.h"
#include "core/cluster/analysis/equal_paths.h"
#include "core/cluster/analysis/lint.h"
#include "core/cluster/analysis/node_shape.h"
#include "core/cluster/analysis/tiers.h"
#include "core/cluster/cable_data.h"
#include "core/cluster/cluster.h"

namespace trainyard::cli {

struct CableLatency {
  Cable cable;
  std::int64_t count = 0;
  RangedSeconds latency;
};
// Of cables whose type and length are known, most first.
std::vector<CableLatency> cable_latencies(const Cluster& cluster);

struct TopologyReport {
  std::vector<Tier> backend;
  std::vector<Tier> frontend;
  Rails rails;
  std::optional<Bisection> bisection;
  std::vector<PathGroup> paths;  // from rank 0
  std::vector<CutPoint> cut_points;
  std::vector<Finding> findings;
  std::vector<CableLatency> cables;
  std::vector<NodeShape> shapes;
};

// `stage` is told what is being worked out.
TopologyReport analyse(const Cluster& cluster, const std::function<void(const std::string&)>& stage);

nlohmann::ordered_json to_json(const TopologyReport& report, const Cluster& cluster);
nlohmann::ordered_json to_json(const ClusterDifference& difference);

}  // namespace trainyard::cli
