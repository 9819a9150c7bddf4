// A collective as flows: what each algorithm puts on which link, before any routing.
//
// All steps of a pipelined algorithm are on their way at once, so a collective is one set of flows, and its wire time
// ends with the last of them. Flows inside nodes and flows between nodes use different links; they are kept apart,
// and the longer of the two times counts (simulator/collective/flow_price.h). Several groups at once are the union of
// their flows.
//
// Between nodes NCCL opens, for each rail, `channels_per_nic` channels of `queue_pairs` queue pairs each; a hash sees
// each as a flow of its own. Flows of one ring or tree channel move in lock-step: a coupled group.
//
// The size S is nccl-tests': of a rank's buffer for all-reduce, broadcast, reduce, send; of all ranks' together for the
// others. The files of the algorithms open with the bytes that each puts on the wire.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"
#include "simulator/collective/algorithms/group_layout.h"
#include "simulator/collective/nccl_names.h"
#include "simulator/fabric/flow.h"

namespace trainyard::simulator {

enum class FlowAlgorithm : std::uint8_t {
  kRing,
  kTree,
  kNvls,
  kNvlsTree,
  kCollNetDirect,
  kCollNetChain,
  kPat,
  kDirect,
  kHierarchical,      // reduce-scatter inside, rings across on each rail, all-gather inside
  kHierarchicalTree,  // the same with a double tree across
};
constexpr int kFlowAlgorithms = 10;
std::string_view to_string(FlowAlgorithm algorithm);  // NCCL's names, "hierarchical", "hierarchical_tree"
std::optional<FlowAlgorithm> parse_flow_algorithm(std::string_view text);
// NCCL's counterpart; absent for the two that frameworks build on top of it.
std::optional<NcclAlgorithm> nccl_algorithm(FlowAlgorithm algorithm);
FlowAlgorithm flow_algorithm(NcclAlgorithm algorithm);

// How NCCL is set up on the job.
struct FlowSetup {
  int channels_per_nic = 2;
  int queue_pairs = 1;     // of a channel: NCCL_IB_QPS_PER_CONNECTION
  bool pxn = true;         // NCCL_PXN_DISABLE=0: data crosses NVLink to the GPU beside the rail's NIC
  bool cross_nic = false;  // NCCL_CROSS_NIC=1: a ring may leave a node by another NIC than it came in
  friend bool operator==(const FlowSetup&, const FlowSetup&) = default;
};

// A flow whose links are known without routing: to and from a switch that reduces.
struct FixedFlow {
  Flow flow;
  std::vector<ArcUse> uses;
};

struct CollectiveFlows {
  std::vector<Flow> inside;
  std::vector<FixedFlow> inside_fixed;
  std::vector<Flow> across;
  std::vector<FixedFlow> across_fixed;
  std::vector<std::string> notes;  // what was simplified, for people
};

// A message between nodes, cut into its queue pairs.
struct AcrossMessage {
  VertexId from;
  VertexId to;
  VertexId from_nic;
  VertexId to_nic;
  std::optional<VertexId> relay;
  double bytes = 0.0;
  std::int32_t channel = 0;
  std::optional<std::int32_t> coupled_group;
};

// Where the algorithms put their flows. Bytes of zero and flows to oneself are left out.
class FlowWriter {
 public:
  FlowWriter(const Cluster& cluster, const ClusterGraph& graph, const FlowSetup& setup)
      : cluster_(cluster), graph_(graph), setup_(setup) {}

  const Cluster& cluster() const { return cluster_; }
  const ClusterGraph& graph() const { return graph_; }
  const FlowSetup& setup() const { return setup_; }
  std::int32_t new_coupled_group() { return next_group_++; }

  void inside(VertexId from, VertexId to, double bytes);
  void across(const AcrossMessage& message);
  // Between a GPU and the NVSwitches it is linked to, spread over them as their links are wide.
  void nvswitch(VertexId gpu, double bytes_up, double bytes_down);
  void across_on(ArcId arc, double bytes, std::int32_t coupled_group);
  void note(std::string text);

  CollectiveFlows take() { return std::move(flows_); }

 private:
  const Cluster& cluster_;
  const ClusterGraph& graph_;
  FlowSetup setup_;
  CollectiveFlows flows_;
  std::int32_t next_group_ = 0;
};

// What the algorithm can do; `reason` otherwise, for people.
struct Applicable {
  bool yes = true;
  std::string reason;
};
Applicable applicable(FlowAlgorithm algorithm, CollectiveOp op, const GroupLayout& layout, const Cluster& cluster,
                      const ClusterGraph& graph);

// Adds the group's flows. Throws Error with the reason where the algorithm doesn't apply.
void add_collective(FlowWriter& writer, FlowAlgorithm algorithm, CollectiveOp op, const GroupLayout& layout,
                    double size);

}  // namespace trainyard::simulator
