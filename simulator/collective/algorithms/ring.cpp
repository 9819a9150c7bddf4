#include "simulator/collective/algorithms/ring.h"

#include <algorithm>

namespace trainyard::simulator {

namespace {

// Reduce is broadcast backwards: the same links, the other way.
struct Direction {
  bool closed = true;
  bool backwards = false;
};

Direction direction_of(CollectiveOp op) {
  return {.closed = op != CollectiveOp::kBroadcast && op != CollectiveOp::kReduce,
          .backwards = op == CollectiveOp::kReduce};
}

void add_inside(FlowWriter& writer, VertexId from, VertexId to, double bytes, Direction direction) {
  direction.backwards ? writer.inside(to, from, bytes) : writer.inside(from, to, bytes);
}

void add_one_node(FlowWriter& writer, const NodePart& node, double bytes, Direction direction) {
  const std::size_t hops = direction.closed ? node.gpus.size() : node.gpus.size() - 1;
  for (std::size_t i = 0; i < hops; ++i) {
    add_inside(writer, node.around(i), node.around(i + 1), bytes, direction);
  }
}

// Where a rail's ring starts in a node: at its head, but a chain starts at the root.
std::size_t start_of(const GroupLayout& layout, std::size_t node, std::size_t rail, Direction direction) {
  const NodePart& part = layout.nodes[node];
  if (!direction.closed && node == 0) {
    return static_cast<std::size_t>(std::find(part.ring.begin(), part.ring.end(), std::size_t{0}) - part.ring.begin());
  }
  return part.heads[rail];
}

// Every ring leaves out the hop back to where it starts.
void add_hops_inside(FlowWriter& writer, const GroupLayout& layout, std::size_t node, double bytes,
                     Direction direction) {
  const NodePart& part = layout.nodes[node];
  const std::size_t members = part.gpus.size();
  std::vector<std::size_t> starts(members, 0);
  for (std::size_t rail = 0; rail < layout.rails; ++rail) {
    ++starts[start_of(layout, node, rail, direction)];
  }
  for (std::size_t i = 0; i < members; ++i) {
    const std::size_t rings = layout.rails - starts[(i + 1) % members];
    add_inside(writer, part.around(i), part.around(i + 1), bytes * static_cast<double>(rings), direction);
  }
}

AcrossMessage hop_across(const FlowWriter& writer, const GroupLayout& layout, std::size_t node, std::size_t rail,
                         Direction direction) {
  const NodePart& from = layout.nodes[node];
  const NodePart& to = layout.nodes[(node + 1) % layout.nodes.size()];
  const std::size_t members = from.gpus.size();
  const std::size_t last = (start_of(layout, node, rail, direction) + members - 1) % members;
  AcrossMessage message;
  message.from = from.around(last);
  message.to = to.head(rail);
  message.to_nic = to.nics[rail];
  message.from_nic = from.nics[rail];
  if (writer.setup().cross_nic) {
    message.from_nic = from.nics[from.rail_of[from.ring[last]]];
  } else if (writer.setup().pxn && from.nvlink && from.head(rail) != message.from) {
    message.relay = from.head(rail);
  }
  return message;
}

void turn_round(AcrossMessage& message) {
  std::swap(message.from, message.to);
  std::swap(message.from_nic, message.to_nic);
  message.relay.reset();  // the data goes from the NIC straight to the last member
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
    add_one_node(writer, node, bytes, {});
  }
}

void add_ring(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, double size) {
  const Direction direction = direction_of(op);
  const double bytes = ring_bytes(op, layout.size(), size);
  if (layout.nodes.size() == 1) {
    add_one_node(writer, layout.nodes.front(), bytes, direction);
    return;
  }
  const double of_rail = bytes / static_cast<double>(layout.rails);
  for (std::size_t node = 0; node < layout.nodes.size(); ++node) {
    add_hops_inside(writer, layout, node, of_rail, direction);
  }
  const std::size_t hops = direction.closed ? layout.nodes.size() : layout.nodes.size() - 1;
  const int channels = writer.setup().channels_per_nic;
  for (std::size_t rail = 0; rail < layout.rails; ++rail) {
    for (int c = 0; c < channels; ++c) {
      const std::int32_t group = writer.new_coupled_group();
      for (std::size_t node = 0; node < hops; ++node) {
        AcrossMessage message = hop_across(writer, layout, node, rail, direction);
        if (direction.backwards) {
          turn_round(message);
        }
        message.bytes = of_rail / channels;
        message.channel = static_cast<std::int32_t>(rail) * channels + c;
        message.coupled_group = group;
        writer.across(message);
      }
    }
  }
}

}  // namespace trainyard::simulator
