#include "simulator/collective/algorithms/collective_flows.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "simulator/collective/algorithms/collnet.h"
#include "simulator/collective/algorithms/direct.h"
#include "simulator/collective/algorithms/hierarchical.h"
#include "simulator/collective/algorithms/nvls.h"
#include "simulator/collective/algorithms/pat.h"
#include "simulator/collective/algorithms/ring.h"
#include "simulator/collective/algorithms/tree.h"

namespace trainyard::simulator {

namespace {

constexpr std::array<std::string_view, kFlowAlgorithms> kNames = {
    "ring",          "tree", "nvls",   "nvls_tree",    "collnet_direct",
    "collnet_chain", "pat",  "direct", "hierarchical", "hierarchical_tree"};

bool is_gather(CollectiveOp op) { return op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter; }

bool every_node_has_a_switch(const GroupLayout& layout, const Cluster& cluster, const ClusterGraph& graph) {
  return std::all_of(layout.nodes.begin(), layout.nodes.end(), [&](const NodePart& node) {
    const auto hops = graph.out(node.gpus.front());
    return std::any_of(hops.begin(), hops.end(),
                       [&](const Hop& hop) { return cluster.vertex(hop.to).kind == VertexKind::kNvswitch; });
  });
}

Applicable unless(bool wrong, const char* reason) { return wrong ? Applicable{false, reason} : Applicable{}; }

Applicable all_of(std::initializer_list<Applicable> conditions) {
  const auto* found = std::find_if(conditions.begin(), conditions.end(), [](const Applicable& a) { return !a.yes; });
  return found == conditions.end() ? Applicable{} : *found;
}

}  // namespace

std::string_view to_string(FlowAlgorithm algorithm) { return kNames.at(static_cast<std::size_t>(algorithm)); }

std::optional<FlowAlgorithm> parse_flow_algorithm(std::string_view text) {
  const auto* found = std::find(kNames.begin(), kNames.end(), text);
  return found == kNames.end() ? std::nullopt : std::optional(static_cast<FlowAlgorithm>(found - kNames.begin()));
}

std::optional<NcclAlgorithm> nccl_algorithm(FlowAlgorithm algorithm) {
  switch (algorithm) {
    case FlowAlgorithm::kRing:
      return NcclAlgorithm::kRing;
    case FlowAlgorithm::kTree:
      return NcclAlgorithm::kTree;
    case FlowAlgorithm::kNvls:
      return NcclAlgorithm::kNvls;
    case FlowAlgorithm::kNvlsTree:
      return NcclAlgorithm::kNvlsTree;
    case FlowAlgorithm::kCollNetDirect:
      return NcclAlgorithm::kCollNetDirect;
    case FlowAlgorithm::kCollNetChain:
      return NcclAlgorithm::kCollNetChain;
    case FlowAlgorithm::kPat:
      return NcclAlgorithm::kPat;
    case FlowAlgorithm::kDirect:
      return NcclAlgorithm::kDirect;
    case FlowAlgorithm::kHierarchical:
    case FlowAlgorithm::kHierarchicalTree:
      break;
  }
  return std::nullopt;
}

FlowAlgorithm flow_algorithm(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      return FlowAlgorithm::kRing;
    case NcclAlgorithm::kTree:
      return FlowAlgorithm::kTree;
    case NcclAlgorithm::kNvls:
      return FlowAlgorithm::kNvls;
    case NcclAlgorithm::kNvlsTree:
      return FlowAlgorithm::kNvlsTree;
    case NcclAlgorithm::kCollNetDirect:
      return FlowAlgorithm::kCollNetDirect;
    case NcclAlgorithm::kCollNetChain:
      return FlowAlgorithm::kCollNetChain;
    case NcclAlgorithm::kPat:
      return FlowAlgorithm::kPat;
    case NcclAlgorithm::kDirect:
      break;
  }
  return FlowAlgorithm::kDirect;
}

void FlowWriter::inside(VertexId from, VertexId to, double bytes) {
  if (from == to || bytes <= 0.0) {
    return;
  }
  Flow flow;
  flow.source = from;
  flow.destination = to;
  flow.bytes = from_si<Bytes>(bytes);
  flows_.inside.push_back(flow);
}

void FlowWriter::across(const AcrossMessage& message) {
  if (message.bytes <= 0.0 || message.from == message.to) {
    return;
  }
  Flow flow;
  flow.source = message.from;
  flow.destination = message.to;
  flow.source_nic = message.from_nic;
  flow.destination_nic = message.to_nic;
  flow.relay = message.relay;
  flow.bytes = from_si<Bytes>(message.bytes / setup_.queue_pairs);
  flow.channel = message.channel;
  flow.coupled_group = message.coupled_group;
  for (flow.queue_pair = 0; flow.queue_pair < setup_.queue_pairs; ++flow.queue_pair) {
    flows_.across.push_back(flow);
  }
}

void FlowWriter::nvswitch(VertexId gpu, double bytes_up, double bytes_down) {
  FixedFlow up;
  FixedFlow down;
  double width = 0.0;
  for (const Hop& hop : graph_.out(gpu)) {
    if (cluster_.vertex(hop.to).kind == VertexKind::kNvswitch) {
      const double rate = cluster_.bandwidth(hop.arc).si();
      const ArcId back = is_reverse(hop.arc) ? forward_arc(link_of(hop.arc)) : reverse_arc(link_of(hop.arc));
      up.uses.push_back({hop.arc, kAllCables, rate});
      down.uses.push_back({back, kAllCables, rate});
      up.flow.destination = down.flow.source = hop.to;
      width += rate;
    }
  }
  up.flow.source = down.flow.destination = gpu;
  up.flow.bytes = from_si<Bytes>(bytes_up);
  down.flow.bytes = from_si<Bytes>(bytes_down);
  for (FixedFlow* flow : {&up, &down}) {
    for (ArcUse& use : flow->uses) {
      use.weight /= width;
    }
    if (!flow->uses.empty()) {
      flows_.inside_fixed.push_back(std::move(*flow));
    }
  }
}

void FlowWriter::across_on(ArcId arc, double bytes, std::int32_t coupled_group) {
  FixedFlow fixed;
  fixed.flow.source = cluster_.tail(arc);
  fixed.flow.destination = cluster_.head(arc);
  fixed.flow.bytes = from_si<Bytes>(bytes);
  fixed.flow.coupled_group = coupled_group;
  fixed.uses = {{arc, kAllCables, 1.0}};
  flows_.across_fixed.push_back(std::move(fixed));
}

void FlowWriter::note(std::string text) {
  if (std::find(flows_.notes.begin(), flows_.notes.end(), text) == flows_.notes.end()) {
    flows_.notes.push_back(std::move(text));
  }
}

Applicable applicable(FlowAlgorithm algorithm, CollectiveOp op, const GroupLayout& layout, const Cluster& cluster,
                      const ClusterGraph& graph) {
  const bool all_reduce = op == CollectiveOp::kAllReduce;
  const bool several = layout.nodes.size() > 1;
  const bool exchange = op == CollectiveOp::kAllToAll || op == CollectiveOp::kSendRecv;
  const auto needs_switch = [&] {
    return all_of({unless(layout.largest_node() < 2, "needs two ranks in a node"),
                   unless(!every_node_has_a_switch(layout, cluster, graph), "needs an NVSwitch in every node")});
  };
  switch (algorithm) {
    case FlowAlgorithm::kRing:
      return unless(exchange, "serves reductions, gathers and broadcasts");
    case FlowAlgorithm::kTree:
      return unless(!all_reduce, "serves all-reduce only");
    case FlowAlgorithm::kNvls:
      return all_of({unless(!all_reduce && !is_gather(op), "serves all-reduce, all-gather and reduce-scatter"),
                     unless(is_gather(op) && several, "gathers inside one node only"), needs_switch()});
    case FlowAlgorithm::kNvlsTree:
      return all_of(
          {unless(!all_reduce, "serves all-reduce only"), unless(!several, "needs several nodes"), needs_switch()});
    case FlowAlgorithm::kCollNetDirect:
    case FlowAlgorithm::kCollNetChain:
      return all_of({unless(!all_reduce, "serves all-reduce only"), unless(!several, "needs several nodes")});
    case FlowAlgorithm::kPat:
      return all_of({unless(!is_gather(op), "serves all-gather and reduce-scatter"),
                     unless(layout.nodes.size() < layout.size(), "needs one rank a node")});
    case FlowAlgorithm::kDirect:
      return unless(!exchange, "serves all-to-all and send/receive");
    case FlowAlgorithm::kHierarchical:
    case FlowAlgorithm::kHierarchicalTree:
      return all_of({unless(!all_reduce && !is_gather(op), "serves all-reduce, all-gather and reduce-scatter"),
                     unless(algorithm == FlowAlgorithm::kHierarchicalTree && !all_reduce, "serves all-reduce only"),
                     unless(!several, "needs several nodes"),
                     unless(layout.ranks_per_node() < 2, "needs equally many ranks, two or more, in every node")});
  }
  return {};
}

void add_collective(FlowWriter& writer, FlowAlgorithm algorithm, CollectiveOp op, const GroupLayout& layout,
                    double size) {
  const Applicable possible = applicable(algorithm, op, layout, writer.cluster(), writer.graph());
  if (!possible.yes) {
    throw Error(std::string(to_string(algorithm)) + " " + possible.reason,
                std::string(to_string(op)) + " of " + std::to_string(layout.size()) + " ranks on " +
                    std::to_string(layout.nodes.size()) + " nodes",
                "choose another algorithm, or auto");
  }
  switch (algorithm) {
    case FlowAlgorithm::kRing:
      return add_ring(writer, op, layout, size);
    case FlowAlgorithm::kTree:
      return add_tree(writer, layout, size);
    case FlowAlgorithm::kNvls:
      return add_nvls(writer, op, layout, size);
    case FlowAlgorithm::kNvlsTree:
      return add_nvls_tree(writer, layout, size);
    case FlowAlgorithm::kCollNetDirect:
      return add_collnet_direct(writer, layout, size);
    case FlowAlgorithm::kCollNetChain:
      return add_collnet_chain(writer, layout, size);
    case FlowAlgorithm::kPat:
      return add_pat(writer, layout, size);
    case FlowAlgorithm::kDirect:
      return op == CollectiveOp::kAllToAll ? add_all_to_all(writer, layout, size)
                                           : add_send_receive(writer, layout, size);
    case FlowAlgorithm::kHierarchical:
      return add_hierarchical(writer, op, layout, size, false);
    case FlowAlgorithm::kHierarchicalTree:
      return add_hierarchical(writer, op, layout, size, true);
  }
}

}  // namespace trainyard::simulator
