#include "simulator/collective/algorithms/ring.h"

#include <algorithm>

namespace trainyard::simulator {

namespace {

// The ring's place of the root, the first rank, in its node.
std::size_t place_of_root(const NodePart& part) {
  return static_cast<std::size_t>(std::find(part.ring.begin(), part.ring.end(), std::size_t{0}) - part.ring.begin());
}

// Nothing flows into the root of a broadcast, nor out of that of a reduce: whether the hop to a place is that one.
bool left_out(CollectiveOp op, std::size_t root, std::size_t to, std::size_t members) {
  return (op == CollectiveOp::kBroadcast && to == root) || (op == CollectiveOp::kReduce && to == (root + 1) % members);
}

void add_one_node(FlowWriter& writer, CollectiveOp op, const NodePart& node, double bytes) {
  const std::size_t members = node.gpus.size();
  for (std::size_t i = 0; i < members; ++i) {
    if (!left_out(op, place_of_root(node), (i + 1) % members, members)) {
      writer.inside(node.around(i), node.around(i + 1), bytes);
    }
  }
}

// Every ring leaves out the hop back to the head where it enters.
void add_hops_inside(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, std::size_t node, double bytes) {
  const NodePart& part = layout.nodes[node];
  const std::size_t members = part.gpus.size();
  std::vector<std::size_t> enter(members, 0);
  for (std::size_t rail = 0; rail < layout.rails; ++rail) {
    ++enter[part.heads[rail]];
  }
  for (std::size_t i = 0; i < members; ++i) {
    const std::size_t to = (i + 1) % members;
    if (node != 0 || !left_out(op, place_of_root(part), to, members)) {
      writer.inside(part.around(i), part.around(to), bytes * static_cast<double>(layout.rails - enter[to]));
    }
  }
}

// Whether the hop left out for the root's sake is the one between two nodes: the root is where the ring enters its node
// (broadcast) or leaves it (reduce).
bool hop_left_out(CollectiveOp op, const GroupLayout& layout, std::size_t node, std::size_t rail) {
  const NodePart& first = layout.nodes.front();
  const std::size_t from = op == CollectiveOp::kBroadcast ? layout.nodes.size() - 1 : 0;
  return node == from && left_out(op, place_of_root(first), first.heads[rail], first.gpus.size());
}

AcrossMessage hop_across(const FlowWriter& writer, const GroupLayout& layout, std::size_t node, std::size_t rail) {
  const NodePart& from = layout.nodes[node];
  const NodePart& to = layout.nodes[(node + 1) % layout.nodes.size()];
  const std::size_t members = from.gpus.size();
  const std::size_t last = (from.heads[rail] + members - 1) % members;
  AcrossMessage message;
  message.from = from.around(last);
  message.to = to.head(rail);
  message.to_nic = to.nics[rail];
  message.from_nic = from.nics[rail];
  // In an NVLink domain of several hosts the rail's NIC may be on another host: over NVLink, or not at all.
  const Cluster& cluster = writer.cluster();
  const bool same_host = cluster.vertex(message.from).node == cluster.vertex(message.from_nic).node;
  if (writer.setup().cross_nic || (!writer.setup().pxn && !same_host)) {
    message.from_nic = from.nics[from.rail_of[from.ring[last]]];
  } else if (writer.setup().pxn && from.nvlink && from.head(rail) != message.from) {
    message.relay = from.head(rail);
  }
  return message;
}

}  // namespace

double ring_bytes(CollectiveOp op, std::size_t ranks, double size) {
  const double n = static_cast<double>(ranks);
  switch (op) {
    case CollectiveOp::kAllReduce:
      return 2.0 * size * (n - 1.0) / n;
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
      return size * (n - 1.0) / n;
    default:
      return size;
  }
}

void add_ring_inside(FlowWriter& writer, const NodePart& node, double bytes) {
  if (node.gpus.size() > 1) {
    add_one_node(writer, CollectiveOp::kAllReduce, node, bytes);
  }
}

void add_ring(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, double size) {
  const double bytes = ring_bytes(op, layout.size(), size);
  if (layout.nodes.size() == 1) {
    add_one_node(writer, op, layout.nodes.front(), bytes);
    return;
  }
  const double of_rail = bytes / static_cast<double>(layout.rails);
  for (std::size_t node = 0; node < layout.nodes.size(); ++node) {
    add_hops_inside(writer, op, layout, node, of_rail);
  }
  const int channels = writer.setup().channels_per_nic;
  for (std::size_t rail = 0; rail < layout.rails; ++rail) {
    for (int c = 0; c < channels; ++c) {
      const std::int32_t group = writer.new_coupled_group();
      for (std::size_t node = 0; node < layout.nodes.size(); ++node) {
        if (hop_left_out(op, layout, node, rail)) {
          continue;
        }
        AcrossMessage message = hop_across(writer, layout, node, rail);
        message.bytes = of_rail / channels;
        message.channel = static_cast<std::int32_t>(rail) * channels + c;
        message.coupled_group = group;
        writer.across(message);
      }
    }
  }
}

}  // namespace trainyard::simulator
