#include "simulator/fabric/equal_cost_paths.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "core/error.h"
#include "simulator/fabric/lanes.h"

namespace trainyard::simulator {

namespace {

bool is_switch(VertexKind kind) {
  return is_fabric_switch(kind) || kind == VertexKind::kNvswitch || kind == VertexKind::kPcieSwitch ||
         kind == VertexKind::kCpu;
}

VertexId vertex_at(std::size_t v) { return VertexId(static_cast<std::int64_t>(v)); }

bool same(const NextHop& a, const NextHop& b) { return a.arc == b.arc && a.cable == b.cable; }

// Sets joined along links; the root of a set is its first vertex.
class UnionFind {
 public:
  explicit UnionFind(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::uint32_t root(std::uint32_t v) {
    while (parent_[v] != v) {
      v = parent_[v] = parent_[parent_[v]];
    }
    return v;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = root(a), b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

EqualCostPaths::EqualCostPaths(const Cluster& cluster, const ClusterGraph& graph, const LinkSelection& selected) {
  selected_.reserve(cluster.links().size());
  for (const Link& link : cluster.links()) {
    selected_.push_back(selected(link) ? Selected{link.width, is_bundle(link)} : Selected{});
  }
  find_transit(cluster, graph);
  find_components(cluster);
  number_transit();
  list_hops(graph);
  find_classes();
}

// Marks with 0; number_transit() gives the positions.
void EqualCostPaths::find_transit(const Cluster& cluster, const ClusterGraph& graph) {
  check(graph.vertices() == cluster.vertices().size(), "a graph of another cluster");
  transit_.assign(cluster.vertices().size(), -1);
  for (std::size_t l = 0; l < selected_.size(); ++l) {
    if (selected_[l].width == 0) {
      continue;
    }
    const Link& link = cluster.links()[l];
    const bool from_switch = is_switch(graph.kind(link.from));
    const bool to_switch = is_switch(graph.kind(link.to));
    if (from_switch || !to_switch) {
      transit_[link.from.at()] = 0;
    }
    if (to_switch || !from_switch) {
      transit_[link.to.at()] = 0;
    }
  }
}

void EqualCostPaths::find_components(const Cluster& cluster) {
  UnionFind sets(cluster.vertices().size());
  component_.assign(cluster.vertices().size(), -1);
  for (std::size_t l = 0; l < selected_.size(); ++l) {
    if (selected_[l].width != 0) {
      const Link& link = cluster.links()[l];
      sets.join(static_cast<std::uint32_t>(link.from.value()), static_cast<std::uint32_t>(link.to.value()));
      component_[link.from.at()] = component_[link.to.at()] = 0;
    }
  }
  std::int32_t components = 0;
  for (std::size_t v = 0; v < component_.size(); ++v) {
    if (component_[v] < 0) {
      continue;
    }
    const std::uint32_t root = sets.root(static_cast<std::uint32_t>(v));
    component_[v] = root == v ? components++ : component_[root];
  }
  component_first_.assign(static_cast<std::size_t>(components) + 1, 0);
}

void EqualCostPaths::number_transit() {
  for (std::size_t v = 0; v < transit_.size(); ++v) {
    if (transit_[v] >= 0) {
      ++component_first_[static_cast<std::size_t>(component_[v]) + 1];
    }
  }
  std::partial_sum(component_first_.begin(), component_first_.end(), component_first_.begin());
  std::vector<std::int32_t> next(component_first_.begin(), component_first_.end() - 1);
  transit_vertices_.resize(static_cast<std::size_t>(component_first_.back()));
  for (std::size_t v = 0; v < transit_.size(); ++v) {
    if (transit_[v] >= 0) {
      transit_[v] = next[static_cast<std::size_t>(component_[v])]++;
      transit_vertices_[static_cast<std::size_t>(transit_[v])] = vertex_at(v);
    }
  }
  last_group_.assign(transit_vertices_.size(), -1);
}

void EqualCostPaths::list_hops(const ClusterGraph& graph) {
  links_.reserve(static_cast<std::size_t>(
      2 * std::count_if(selected_.begin(), selected_.end(), [](const Selected& link) { return link.width != 0; })));
  links_first_.reserve(transit_.size() + 1);
  links_first_.push_back(0);
  for (std::size_t v = 0; v < transit_.size(); ++v) {
    for (const Hop& hop : component_[v] < 0 ? std::span<const Hop>() : graph.out(vertex_at(v))) {
      const LinkId id = link_of(hop.arc);
      const Selected& link = selected_[id.at()];
      if (link.width == 0 || transit_[hop.to.at()] < 0) {
        continue;
      }
      if (!link.bundle) {
        links_.push_back({hop.arc, -1, static_cast<float>(link.width), hop.to});
        continue;
      }
      for (std::int32_t cable = 0; cable < link.width; ++cable) {
        links_.push_back({hop.arc, static_cast<std::int16_t>(cable), 1.0F, hop.to});
      }
    }
    links_first_.push_back(static_cast<std::uint32_t>(links_.size()));
  }
}

// Classes are numbered so that those of a component lie together; positions go with them.
void EqualCostPaths::find_classes() {
  class_of_.assign(transit_.size(), -1);
  position_.assign(transit_.size(), -1);
  // Most endpoints have one switch: those of switch t are from single_first[t] on, the switch itself among them.
  std::vector<std::int32_t> single(transit_.size(), -1);
  std::vector<std::uint32_t> single_first(transit_vertices_.size() + 1, 0);
  std::map<std::vector<std::int32_t>, std::vector<VertexId>> by_switches;
  std::vector<std::int32_t> switches;
  for (std::size_t v = 0; v < transit_.size(); ++v) {
    if (component_[v] < 0) {
      continue;
    }
    switches.clear();
    for (const NextHop& hop : transit_[v] >= 0 ? std::span<const NextHop>() : links_of(vertex_at(v))) {
      switches.push_back(transit_[hop.to.at()]);
    }
    std::sort(switches.begin(), switches.end());
    switches.erase(std::unique(switches.begin(), switches.end()), switches.end());
    if (transit_[v] >= 0 || switches.size() == 1) {
      single[v] = transit_[v] >= 0 ? transit_[v] : switches[0];
      ++single_first[static_cast<std::size_t>(single[v]) + 1];
    } else {
      by_switches[switches].push_back(vertex_at(v));
    }
  }
  std::partial_sum(single_first.begin(), single_first.end(), single_first.begin());
  std::vector<VertexId> members(single_first.back());
  std::vector<std::uint32_t> next(single_first.begin(), single_first.end() - 1);
  for (std::size_t v = 0; v < single.size(); ++v) {
    if (single[v] >= 0) {
      members[next[static_cast<std::size_t>(single[v])]++] = vertex_at(v);
    }
  }
  std::int32_t position = 0;
  class_first_ = {0};
  const auto add_class = [&](std::span<const VertexId> of) {
    for (const VertexId member : of) {
      class_of_[member.at()] = static_cast<std::int32_t>(class_first_.size()) - 1;
      position_[member.at()] = forwards(member) && of.size() > 1 ? 0 : position++;
    }
    class_first_.push_back(static_cast<std::uint32_t>(class_switches_.size()));
  };
  auto multiple = by_switches.begin();
  for (std::size_t t = 0; t < transit_vertices_.size(); ++t) {
    if (single_first[t + 1] > single_first[t]) {
      class_switches_.push_back(transit_vertices_[t]);
      add_class({members.data() + single_first[t], members.data() + single_first[t + 1]});
    }
    for (; multiple != by_switches.end() && multiple->first.front() == static_cast<std::int32_t>(t); ++multiple) {
      for (const std::int32_t s : multiple->first) {
        class_switches_.push_back(transit_vertices_[static_cast<std::size_t>(s)]);
      }
      add_class(multiple->second);
    }
  }
  table_first_.assign(class_first_.size() - 1, -1);
}

std::span<const VertexId> EqualCostPaths::switches_of(std::int32_t destination_class) const {
  const auto c = static_cast<std::size_t>(destination_class);
  return {class_switches_.data() + class_first_[c], class_switches_.data() + class_first_[c + 1]};
}

std::span<const NextHop> EqualCostPaths::links_of(VertexId vertex) const {
  return {links_.data() + links_first_[vertex.at()], links_.data() + links_first_[vertex.at() + 1]};
}

std::size_t EqualCostPaths::table(std::int32_t destination_class) {
  const auto wanted = static_cast<std::size_t>(destination_class);
  if (table_first_[wanted] >= 0) {
    return static_cast<std::size_t>(table_first_[wanted]);
  }
  const std::int32_t component = component_[switches_of(destination_class).front().at()];
  const auto in_component = [&](std::int32_t c) { return component_[switches_of(c).front().at()] == component; };
  std::int32_t first = destination_class / 64 * 64;
  std::int32_t last = std::min(first + 64, static_cast<std::int32_t>(table_first_.size()));
  while (!in_component(first)) {
    ++first;
  }
  while (!in_component(last - 1)) {
    --last;
  }
  fill_tables(first, last);
  return static_cast<std::size_t>(table_first_[wanted]);
}

// Breadth first from up to 64 classes at once: bit c of a word stands for class first + c.
void EqualCostPaths::fill_tables(std::int32_t first_class, std::int32_t last_class) {
  const auto component = static_cast<std::size_t>(component_[switches_of(first_class).front().at()]);
  const auto base = static_cast<std::size_t>(component_first_[component]);
  const std::size_t size = static_cast<std::size_t>(component_first_[component + 1]) - base;
  std::vector<std::uint64_t> seen(size, 0);
  std::vector<std::uint64_t> frontier(size, 0);
  std::vector<std::uint64_t> next(size, 0);
  const std::size_t tables = distance_.size();
  distance_.resize(tables + size * static_cast<std::size_t>(last_class - first_class), kUnreachable);
  group_.resize(distance_.size(), -1);
  for (std::int32_t c = first_class; c < last_class; ++c) {
    table_first_[static_cast<std::size_t>(c)] =
        static_cast<std::int64_t>(tables + size * static_cast<std::size_t>(c - first_class));
    for (const VertexId end : switches_of(c)) {
      frontier[static_cast<std::size_t>(transit_[end.at()]) - base] |= std::uint64_t{1} << (c - first_class);
    }
  }
  for (std::uint16_t level = 0;; ++level) {
    check(level < kUnreachable, "a fabric of more than 65,534 hops");
    bool any = false;
    for (std::size_t t = 0; t < size; ++t) {
      frontier[t] &= ~seen[t];
      seen[t] |= frontier[t];
      for (std::uint64_t bits = frontier[t]; bits != 0; bits &= bits - 1) {
        distance_[tables + size * static_cast<std::size_t>(std::countr_zero(bits)) + t] = level;
        any = true;
      }
    }
    if (!any) {
      return;
    }
    for (std::size_t t = 0; t < size; ++t) {
      if (frontier[t] == 0) {
        continue;
      }
      for (const NextHop& hop : links_of(transit_vertices_[base + t])) {
        next[static_cast<std::size_t>(transit_[hop.to.at()]) - base] |= frontier[t];
      }
    }
    frontier.swap(next);
    std::fill(next.begin(), next.end(), 0);
  }
}

std::uint16_t EqualCostPaths::distance(VertexId transit, std::int32_t destination_class) {
  const std::int32_t component = component_[transit.at()];
  if (component != component_[switches_of(destination_class).front().at()]) {
    return kUnreachable;
  }
  const std::int32_t base = component_first_[static_cast<std::size_t>(component)];
  return distance_[table(destination_class) + static_cast<std::size_t>(transit_[transit.at()] - base)];
}

std::int32_t EqualCostPaths::make_group(VertexId transit, std::int32_t destination_class) {
  // All in one component: no need to ask distance() about it each time.
  const std::uint16_t* to_class = distance_.data() + table(destination_class);
  const std::int32_t base = component_first_[static_cast<std::size_t>(component_[transit.at()])];
  const int nearer = to_class[transit_[transit.at()] - base] - 1;
  scratch_.clear();
  for (const NextHop& hop : links_of(transit)) {
    if (to_class[transit_[hop.to.at()] - base] == nearer) {
      scratch_.push_back(hop);
    }
  }
  std::int32_t& last = last_group_[static_cast<std::size_t>(transit_[transit.at()])];
  if (last >= 0) {
    const Group& group = groups_[static_cast<std::size_t>(last)];
    if (group.count == scratch_.size() &&
        std::equal(scratch_.begin(), scratch_.end(), members_.begin() + group.first, same)) {
      return last;
    }
  }
  groups_.push_back({static_cast<std::uint32_t>(members_.size()), static_cast<std::uint32_t>(scratch_.size())});
  members_.insert(members_.end(), scratch_.begin(), scratch_.end());
  last = static_cast<std::int32_t>(groups_.size()) - 1;
  return last;
}

std::optional<std::int32_t> EqualCostPaths::hops(VertexId from, VertexId to) {
  if (from == to) {
    return 0;
  }
  const std::int32_t wanted = class_of_[to.at()];
  if (wanted < 0 || component_[from.at()] != component_[to.at()]) {
    return std::nullopt;
  }
  std::int32_t best = kUnreachable;
  if (forwards(from)) {
    best = distance(from, wanted);
  } else {
    for (const NextHop& hop : links_of(from)) {
      best = std::min<std::int32_t>(best, distance(hop.to, wanted) + 1);
    }
  }
  if (best >= kUnreachable) {
    return std::nullopt;
  }
  return best + (forwards(to) ? 0 : 1);
}

std::span<const NextHop> EqualCostPaths::next_hops(VertexId at, VertexId destination) {
  const std::int32_t wanted = class_of_[destination.at()];
  if (at == destination || wanted < 0 || component_[at.at()] != component_[destination.at()]) {
    return {};
  }
  if (!forwards(at)) {
    // An endpoint's own links: those to the switches that are nearest.
    std::int32_t best = kUnreachable;
    const std::span<const NextHop> links = links_of(at);
    if (links.size() == 1) {  // most NICs
      return distance(links.front().to, wanted) == kUnreachable ? std::span<const NextHop>() : links;
    }
    for (const NextHop& hop : links) {
      best = std::min<std::int32_t>(best, distance(hop.to, wanted));
    }
    const auto is_best = [&](const NextHop& hop) { return distance(hop.to, wanted) == best; };
    if (best == kUnreachable || std::all_of(links.begin(), links.end(), is_best)) {
      return best == kUnreachable ? std::span<const NextHop>() : links;
    }
    scratch_.clear();
    std::copy_if(links.begin(), links.end(), std::back_inserter(scratch_), is_best);
    return scratch_;
  }
  const std::size_t t =
      table(wanted) +
      static_cast<std::size_t>(transit_[at.at()] - component_first_[static_cast<std::size_t>(component_[at.at()])]);
  if (distance_[t] == 0) {
    scratch_.clear();
    for (const NextHop& hop : links_of(destination)) {
      if (hop.to == at) {
        scratch_.push_back({ArcId(std::int64_t{hop.arc.value()} ^ 1), hop.cable, hop.width, destination});
      }
    }
    return scratch_;
  }
  if (distance_[t] == kUnreachable) {
    return {};
  }
  std::int32_t group = group_[t];
  if (group < 0) {
    group = make_group(at, wanted);
    group_[t] = group;
  }
  const Group& found = groups_[static_cast<std::size_t>(group)];
  return {members_.data() + found.first, found.count};
}

}  // namespace trainyard::simulator
