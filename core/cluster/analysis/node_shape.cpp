#include "core/cluster/analysis/node_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "core/units/format_quantity.h"

namespace trainyard {

namespace {

// A device, or a link with the kinds and types at its ends, as numbers that can be compared.
using Part = std::array<std::int64_t, 9>;
using Parts = std::vector<std::pair<Part, std::int64_t>>;

constexpr std::int64_t kUnknown = -1;

Part device_part(const Vertex& vertex) {
  return {0, static_cast<std::int64_t>(vertex.kind), vertex.type.value(), 0, 0, 0, 0, 0, 0};
}

std::int64_t bits(BytesPerSecond rate) { return std::bit_cast<std::int64_t>(rate.si()); }

// The far end of a cable counts by kind alone: leaves of two makes don't make two kinds of host.
std::int64_t end_of(const Vertex& vertex, bool inside) {
  return static_cast<std::int64_t>(vertex.kind) * (std::int64_t{1} << 32) + (inside ? vertex.type.value() : kUnknown);
}

Part link_part(const Cluster& cluster, const Link& link, bool from_inside, bool to_inside) {
  std::int64_t a = end_of(cluster.vertex(link.from), from_inside);
  std::int64_t b = end_of(cluster.vertex(link.to), to_inside);
  BytesPerSecond there = link.bandwidth;
  BytesPerSecond back = link.reverse_bandwidth;
  if (b < a) {
    std::swap(a, b);
    std::swap(there, back);
  }
  return {1,
          a,
          b,
          static_cast<std::int64_t>(link.kind),
          static_cast<std::int64_t>(link.network),
          link.generation.value_or(-1),
          link.width,
          bits(there),
          bits(back)};
}

std::vector<Parts> parts_of_nodes(const Cluster& cluster) {
  std::vector<std::vector<Part>> lists(cluster.nodes().size());
  for (const Vertex& vertex : cluster.vertices()) {
    if (vertex.node) {
      lists[vertex.node->at()].push_back(device_part(vertex));
    }
  }
  for (const Link& link : cluster.links()) {
    const std::optional<NodeId> from = cluster.vertex(link.from).node;
    const std::optional<NodeId> to = cluster.vertex(link.to).node;
    if (from) {
      lists[from->at()].push_back(link_part(cluster, link, true, to == from));
    }
    if (to && to != from) {
      lists[to->at()].push_back(link_part(cluster, link, false, true));
    }
  }
  std::vector<Parts> counted;
  for (std::vector<Part>& list : lists) {
    std::sort(list.begin(), list.end());
    Parts parts;
    for (const Part& part : list) {
      if (parts.empty() || parts.back().first != part) {
        parts.emplace_back(part, 0);
      }
      ++parts.back().second;
    }
    counted.push_back(std::move(parts));
  }
  return counted;
}

std::string text(const Cluster& cluster, const Part& part) {
  const auto end = [&](std::int64_t packed) {
    const VertexKind kind = static_cast<VertexKind>((packed + 1) >> 32);
    const std::int64_t type = packed - (static_cast<std::int64_t>(kind) << 32);
    const std::string name = type == kUnknown ? "" : cluster.device_types()[static_cast<std::size_t>(type)].name;
    return fmt::format("{}{}{}", to_string(kind), name.empty() ? "" : " ", name);
  };
  if (part[0] == 0) {
    return end((part[1] << 32) + part[2]);
  }
  Link link;
  link.kind = static_cast<LinkKind>(part[3]);
  if (part[5] >= 0) {
    link.generation = static_cast<std::int32_t>(part[5]);
  }
  link.width = static_cast<std::int32_t>(part[6]);
  link.bandwidth = from_si<BytesPerSecond>(std::bit_cast<double>(part[7]));
  link.reverse_bandwidth = from_si<BytesPerSecond>(std::bit_cast<double>(part[8]));
  const bool front = static_cast<Network>(part[4]) == Network::kFrontend;
  return fmt::format("{} - {}, {}{}", end(part[1]), end(part[2]), front ? "front-end " : "", describe(link));
}

}  // namespace

std::vector<NodeShape> node_shapes(const Cluster& cluster) {
  const std::vector<Parts> parts = parts_of_nodes(cluster);
  std::map<Parts, std::vector<NodeId>> groups;
  for (std::size_t node = 0; node < parts.size(); ++node) {
    if (!parts[node].empty()) {
      groups[parts[node]].push_back(NodeId(static_cast<std::int64_t>(node)));
    }
  }
  std::vector<NodeShape> shapes;
  for (auto& [list, nodes] : groups) {
    NodeShape shape;
    shape.nodes = std::move(nodes);
    for (const auto& [part, count] : list) {
      shape.parts.emplace_back(text(cluster, part), count);
    }
    shapes.push_back(std::move(shape));
  }
  std::sort(shapes.begin(), shapes.end(), [](const NodeShape& a, const NodeShape& b) {
    return a.nodes.size() != b.nodes.size() ? a.nodes.size() > b.nodes.size() : a.nodes.front() < b.nodes.front();
  });
  return shapes;
}

std::string difference(const NodeShape& shape, const NodeShape& usual) {
  std::map<std::string, std::int64_t> balance;
  for (const auto& [part, count] : shape.parts) {
    balance[part] += count;
  }
  for (const auto& [part, count] : usual.parts) {
    balance[part] -= count;
  }
  std::string text;
  for (const auto& [part, count] : balance) {
    if (count != 0) {
      text += fmt::format("{}{} {}: {}", text.empty() ? "" : "; ", std::abs(count), count > 0 ? "more" : "fewer", part);
    }
  }
  return text;
}

std::string describe(const Link& link) {
  const std::string rate = link.bandwidth == link.reverse_bandwidth ? format_quantity(link.bandwidth)
                                                                    : format_quantity(link.bandwidth) + " and back " +
                                                                          format_quantity(link.reverse_bandwidth);
  const std::string generation = link.generation ? fmt::format(" {}", *link.generation) : "";
  switch (link.kind) {
    case LinkKind::kPcie:
      return fmt::format("pcie{} x{}, {}", generation, link.width, rate);
    case LinkKind::kCable:
      return fmt::format("cable, {}{:g} Gbit/s", link.width > 1 ? fmt::format("{} x ", link.width) : "",
                         link.bandwidth.si() * 8e-9 / link.width);
    default:
      return fmt::format("{}{}{}, {}", to_string(link.kind), generation,
                         link.width > 1 ? fmt::format(" x{}", link.width) : "", rate);
  }
}

}  // namespace trainyard
