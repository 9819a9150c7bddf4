// FlowGroupCost: collectives of a layout's groups on the cluster's graph, all groups of an axis at once.
//
//   t(S) = curve with wire time S w,  w from the flows of every group of the axis together (flow_price.h)
//
// The algorithm is NCCL's choice at the size. Rank r runs on the cluster's r-th GPU. Wire time per byte doesn't depend
// on the size, so the flows of a group shape are solved once for each algorithm and hash seed, and every size reads
// the curve. What has the same flows is solved once:
//
//   ring      reduce-scatter and all-gather w, all-reduce 2 w
//   latency   where eight times the wire time of links of one's own would hide behind the latency, nothing is solved
//   seeds     as many as are asked for
//
// Where the groups lie on the cluster is worked out when it is needed and kept for the last group shapes: of 16,384
// ranks it takes 10 MB a shape.
//
// Groups beyond kMostFlows flows: the first ones stand for all; a note says so. Safe to share between threads, which
// take turns.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/cluster/cluster.h"
#include "simulator/collective/collective_models.h"
#include "simulator/collective/flow_price.h"
#include "simulator/collective/group_cost.h"

namespace trainyard::simulator {

struct FlowGroupOptions {
  FlowSetup setup;
  RoutingPolicy routing;
  int seeds = 1;  // hash routing: routing.seed, + 1, ...
  bool sharp = false;
};

// As the cluster is usually run: adaptive on InfiniBand, hashed on Ethernet.
FlowGroupOptions usual_flow_options(const Cluster& cluster);

class FlowGroupCost final : public GroupCost {
 public:
  static constexpr std::int64_t kMostFlows = 400'000;
  static constexpr std::size_t kLayoutsKept = 6;  // a layer's axes, each asked for in turn

  // The cluster must outlive it. Throws Error for more ranks than GPUs.
  FlowGroupCost(const Cluster& cluster, std::int64_t ranks, CollectiveModels models, FlowGroupOptions options);

  GroupTime time(CollectiveOp op, Bytes size, const GroupShape& group) const override;
  // On one of the seeds, 0 .. seeds() - 1: to see how a step spreads with the hash. The first `wanted` will be asked
  // for, and are solved at once.
  Seconds time_on_seed(CollectiveOp op, Bytes size, const GroupShape& group, int seed, int wanted = 1) const;
  int seeds() const { return options_.seeds; }
  std::vector<std::string> notes() const;  // what was simplified, for people

 private:
  using Key = std::tuple<CollectiveOp, std::array<std::int64_t, 2>, std::array<std::int64_t, 2>, std::int64_t>;
  struct Solved {
    WireTime wire;
    int seeds = 0;                // of them
    std::vector<double> seconds;  // per byte, by seed
  };
  struct Entry {
    CollectiveSite site;
    std::vector<FlowAlgorithm> possible;
    std::map<FlowAlgorithm, CollectiveCurve> curves;
    std::map<FlowAlgorithm, Solved> solved;
  };
  struct Choice {
    Entry* entry = nullptr;
    FlowAlgorithm algorithm = FlowAlgorithm::kRing;
    const CollectiveCurve* curve = nullptr;
    const Solved* solved = nullptr;  // none: latency only
  };

  Entry& entry_of(CollectiveOp op, const GroupShape& group) const;
  static Key key_of(CollectiveOp op, const GroupShape& group) {
    return {op, group.count, group.stride, group.mirrored};
  }
  std::vector<std::int64_t> ranks_from(std::int64_t base, const GroupShape& group) const;
  std::vector<std::vector<VertexId>> members_of(CollectiveOp op, const GroupShape& group) const;
  const std::vector<GroupLayout>& layouts_of(CollectiveOp op, const GroupShape& group) const;
  const CollectiveCurve& curve_of(Entry& entry, CollectiveOp op, FlowAlgorithm algorithm) const;
  Choice choose(CollectiveOp op, Bytes size, const GroupShape& group, int seeds) const;
  const Solved& solve(Entry& entry, CollectiveOp op, const GroupShape& group, FlowAlgorithm algorithm, int seeds) const;
  WireTime wire_of(CollectiveOp op, const GroupShape& group, FlowAlgorithm algorithm, int seeds, WireTime known) const;
  void note(const std::string& text) const;

  std::int64_t ranks_;
  CollectiveModels models_;
  FlowGroupOptions options_;
  std::vector<VertexId> gpus_;
  mutable std::mutex mutex_;
  mutable CollectiveFabric fabric_;
  mutable std::map<Key, Entry> entries_;
  mutable std::list<std::pair<Key, std::vector<GroupLayout>>> layouts_;  // the last asked for first
  mutable std::vector<std::string> notes_;
};

}  // namespace trainyard::simulator
