#include "core/cluster/analysis/difference.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/cluster/analysis/node_shape.h"

namespace trainyard {

namespace {

std::map<std::string, std::int64_t> counts_of(const Cluster& cluster) {
  std::map<std::string, std::int64_t> counts;
  for (const Vertex& vertex : cluster.vertices()) {
    ++counts[std::string(to_string(vertex.kind)) + " " + cluster.device_types()[vertex.type.at()].name];
  }
  return counts;
}

std::vector<CountChange> count_changes(const Cluster& left, const Cluster& right) {
  std::map<std::string, CountChange> changes;
  for (const auto& [what, count] : counts_of(left)) {
    changes[what] = {what, count, 0};
  }
  for (const auto& [what, count] : counts_of(right)) {
    changes[what].what = what;
    changes[what].right = count;
  }
  std::vector<CountChange> result;
  for (const auto& [what, change] : changes) {
    if (change.left != change.right) {
      result.push_back(change);
    }
  }
  return result;
}

std::unordered_set<std::string_view> names_of(const Cluster& cluster) {
  std::unordered_set<std::string_view> names;
  for (const Vertex& vertex : cluster.vertices()) {
    names.insert(vertex.name);
  }
  return names;
}

std::vector<std::string> missing(const Cluster& cluster, const std::unordered_set<std::string_view>& names) {
  std::vector<std::string> result;
  for (const Vertex& vertex : cluster.vertices()) {
    if (names.find(vertex.name) == names.end()) {
      result.push_back(vertex.name);
    }
  }
  return result;
}

// Links by the names of their ends, whichever way round; several between two vertices are listed together.
using LinksByEnds = std::unordered_map<std::string, std::vector<std::string>>;

LinksByEnds links_of(const Cluster& cluster, const std::unordered_set<std::string_view>& names) {
  LinksByEnds links;
  for (Link link : cluster.links()) {
    const std::string* from = &cluster.vertex(link.from).name;
    const std::string* to = &cluster.vertex(link.to).name;
    if (names.find(*from) == names.end() || names.find(*to) == names.end()) {
      continue;
    }
    if (*to < *from) {
      std::swap(from, to);
      std::swap(link.bandwidth, link.reverse_bandwidth);
    }
    links[*from + " - " + *to].push_back(describe(link));
  }
  return links;
}

std::string joined(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  std::string all;
  for (const std::string& text : texts) {
    all += (all.empty() ? "" : " + ") + text;
  }
  return all;
}

std::vector<LinkChange> link_changes(const LinksByEnds& left, const LinksByEnds& right) {
  std::vector<LinkChange> changes;
  for (const auto& [ends, texts] : left) {
    const auto other = right.find(ends);
    const LinkChange change{ends, joined(texts), other == right.end() ? "" : joined(other->second)};
    if (change.left != change.right) {
      changes.push_back(change);
    }
  }
  for (const auto& [ends, texts] : right) {
    if (left.find(ends) == left.end()) {
      changes.push_back({ends, "", joined(texts)});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const LinkChange& a, const LinkChange& b) { return a.ends < b.ends; });
  return changes;
}

// Shape by name of host.
std::map<std::string, const NodeShape*> shapes_by_node(const Cluster& cluster, const std::vector<NodeShape>& shapes) {
  std::map<std::string, const NodeShape*> by_node;
  for (const NodeShape& shape : shapes) {
    for (const NodeId node : shape.nodes) {
      by_node[cluster.nodes()[node.at()]] = &shape;
    }
  }
  return by_node;
}

std::vector<ShapeChange> shape_changes(const Cluster& left, const Cluster& right) {
  const std::vector<NodeShape> left_shapes = node_shapes(left);
  const std::vector<NodeShape> right_shapes = node_shapes(right);
  const std::map<std::string, const NodeShape*> others = shapes_by_node(right, right_shapes);
  std::map<std::string, ShapeChange> changes;
  for (const auto& [node, shape] : shapes_by_node(left, left_shapes)) {
    const auto other = others.find(node);
    if (other == others.end()) {
      continue;
    }
    const std::string what = difference(*other->second, *shape);
    if (!what.empty()) {
      changes[what].what = what;
      changes[what].hosts.push_back(node);
    }
  }
  std::vector<ShapeChange> result;
  for (auto& [what, change] : changes) {
    result.push_back(std::move(change));
  }
  return result;
}

}  // namespace

ClusterDifference difference(const Cluster& left, const Cluster& right) {
  const std::unordered_set<std::string_view> left_names = names_of(left);
  const std::unordered_set<std::string_view> right_names = names_of(right);
  ClusterDifference result;
  result.counts = count_changes(left, right);
  result.only_left = missing(left, right_names);
  result.only_right = missing(right, left_names);
  result.links = link_changes(links_of(left, right_names), links_of(right, left_names));
  result.shapes = shape_changes(left, right);
  return result;
}

}  // namespace trainyard
