#include "simulator/collective/algorithms/direct.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainyard::simulator {

namespace {

constexpr std::size_t kMostPairs = std::size_t{1} << 16;

VertexId nic_of(const NodePart& node, std::size_t position) { return node.nics[node.rail_of[position]]; }

// The member of `from` that goes out by the rail on which `to`'s member at a position comes in; absent where there is
// none or NVLink doesn't reach it.
std::optional<std::size_t> member_on_rail(const NodePart& from, const NodePart& to, std::size_t position) {
  if (!from.nvlink) {
    return std::nullopt;
  }
  const std::size_t rail = to.rail_of[position];
  // Position by position is the usual case: the same place in a node of the same kind.
  if (position < from.rail_of.size() && from.rail_of[position] == rail) {
    return position;
  }
  const auto found = std::find(from.rail_of.begin(), from.rail_of.end(), rail);
  return found == from.rail_of.end() ? std::nullopt
                                     : std::optional(static_cast<std::size_t>(found - from.rail_of.begin()));
}

void add_pair(FlowWriter& writer, const NodePart& from, std::size_t source, const NodePart& to, std::size_t destination,
              double bytes) {
  AcrossMessage message;
  message.from = from.gpus[source];
  message.from_nic = nic_of(from, source);
  message.to = to.gpus[destination];
  message.to_nic = nic_of(to, destination);
  message.bytes = bytes;
  message.channel = static_cast<std::int32_t>(destination);
  writer.across(message);
}

// What the members of `from` have for those of `to`; `pair` bytes each.
void add_nodes(FlowWriter& writer, const NodePart& from, const NodePart& to, double pair,
               std::vector<double>& to_relay) {
  for (std::size_t destination = 0; destination < to.gpus.size(); ++destination) {
    const auto relay = writer.setup().pxn ? member_on_rail(from, to, destination) : std::nullopt;
    if (!relay) {
      for (std::size_t source = 0; source < from.gpus.size(); ++source) {
        add_pair(writer, from, source, to, destination, pair);
      }
      continue;
    }
    add_pair(writer, from, *relay, to, destination, pair * static_cast<double>(from.gpus.size()));
    to_relay[*relay] += pair;
  }
}

// Node distances 1 ... N-1 that stand for all of them.
std::vector<std::size_t> distances(FlowWriter& writer, const GroupLayout& layout) {
  const std::size_t nodes = layout.nodes.size();
  const bool relayed = writer.setup().pxn && layout.nodes.front().nvlink;
  const std::size_t of_distance = layout.size() * (relayed ? 1 : layout.largest_node());
  const std::size_t most = std::max<std::size_t>(kMostPairs / of_distance, 1);
  const std::size_t taken = std::min(nodes - 1, most);
  std::vector<std::size_t> chosen;
  chosen.reserve(taken);
  for (std::size_t i = 0; i < taken; ++i) {
    chosen.push_back(1 + i * (nodes - 1) / taken);
  }
  if (taken < nodes - 1) {
    writer.note(
        fmt::format("all-to-all of {} ranks: {} of {} node distances stand for all", layout.size(), taken, nodes - 1));
  }
  return chosen;
}

}  // namespace

void add_all_to_all(FlowWriter& writer, const GroupLayout& layout, double size) {
  const double pair = size / static_cast<double>(layout.size());
  const std::size_t nodes = layout.nodes.size();
  const std::vector<std::size_t> chosen = nodes > 1 ? distances(writer, layout) : std::vector<std::size_t>();
  const double scale = chosen.empty() ? 1.0 : static_cast<double>(nodes - 1) / static_cast<double>(chosen.size());
  for (std::size_t node = 0; node < nodes; ++node) {
    const NodePart& from = layout.nodes[node];
    std::vector<double> to_relay(from.gpus.size(), 0.0);  // of each other member
    for (const std::size_t distance : chosen) {
      add_nodes(writer, from, layout.nodes[(node + distance) % nodes], pair * scale, to_relay);
    }
    for (std::size_t a = 0; a < from.gpus.size(); ++a) {
      for (std::size_t b = 0; b < from.gpus.size(); ++b) {
        writer.inside(from.gpus[a], from.gpus[b], pair + to_relay[b]);
      }
    }
  }
}

void add_send_receive(FlowWriter& writer, const GroupLayout& layout, double size) {
  for (std::size_t rank = 0; rank < layout.size(); ++rank) {
    const Place& from = layout.ranks[rank];
    const Place& to = layout.ranks[(rank + 1) % layout.size()];
    const NodePart& source = layout.nodes[static_cast<std::size_t>(from.node)];
    const NodePart& destination = layout.nodes[static_cast<std::size_t>(to.node)];
    const auto from_position = static_cast<std::size_t>(from.position);
    const auto to_position = static_cast<std::size_t>(to.position);
    if (from.node == to.node) {
      writer.inside(source.gpus[from_position], destination.gpus[to_position], size);
      continue;
    }
    AcrossMessage message;
    message.from = source.gpus[from_position];
    message.from_nic = nic_of(source, from_position);
    message.to = destination.gpus[to_position];
    message.to_nic = nic_of(destination, to_position);
    const auto relay = writer.setup().pxn ? member_on_rail(source, destination, to_position) : std::nullopt;
    if (relay && *relay != from_position) {
      message.relay = source.gpus[*relay];
      message.from_nic = nic_of(source, *relay);
    }
    const int channels = writer.setup().channels_per_nic;
    for (int c = 0; c < channels; ++c) {
      message.bytes = size / channels;
      message.channel = c;
      writer.across(message);
    }
  }
}

}  // namespace trainyard::simulator
