#include "core/cluster/draw/folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

#include "core/cluster/analysis/tiers.h"
#include "core/cluster/distance.h"
#include "core/cluster/graph.h"
#include "core/units/format_quantity.h"

namespace trainyard {

namespace {

constexpr std::size_t kMostBoxes = 16;     // of a row, before it is folded
constexpr std::size_t kFoldedBoxes = 8;    // when neither pods nor planes do
constexpr std::size_t kMostOpenHosts = 2;  // whose insides are shown
constexpr std::size_t kNoBox = static_cast<std::size_t>(-1);

std::string plural(VertexKind kind, std::size_t count) {
  const std::string name(to_string(kind));
  if (count == 1) {
    return "1 " + name;
  }
  if (kind == VertexKind::kLeaf) {
    return fmt::format("{} leaves", count);
  }
  return fmt::format("{} {}{}", count, name, kind == VertexKind::kNvswitch ? "es" : "s");
}

std::string before_slash(const std::string& name) {
  const std::size_t at = name.rfind('/');
  return at == std::string::npos ? "" : name.substr(0, at);
}

std::string after_slash(const std::string& name) {
  const std::size_t at = name.rfind('/');
  return at == std::string::npos ? name : name.substr(at + 1);
}

// "core00", "core03" -> "core00-03"; "su0", "su0" -> "su0".
std::string range(const std::string& first, const std::string& last) {
  if (first == last) {
    return first;
  }
  std::size_t same = 0;
  while (same < first.size() && same < last.size() && first[same] == last[same]) {
    ++same;
  }
  // From the start of the number that differs.
  while (same > 0 && std::isdigit(static_cast<unsigned char>(last[same - 1])) != 0) {
    --same;
  }
  return first + "-" + last.substr(same);
}

using Group = std::vector<VertexId>;

// Lists of devices that become a box each.
std::vector<Group> groups_by(const Cluster& cluster, const Group& all, std::optional<std::int32_t> Vertex::*attribute) {
  std::map<std::int32_t, Group> by_value;
  for (const VertexId id : all) {
    const std::optional<std::int32_t> value = cluster.vertex(id).*attribute;
    if (!value) {
      return {};
    }
    by_value[*value].push_back(id);
  }
  std::vector<Group> groups;
  for (auto& [value, group] : by_value) {
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<Group> merge(const std::vector<Group>& groups, std::size_t most) {
  std::vector<Group> merged(std::min(most, groups.size()));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Group& into = merged[i * merged.size() / groups.size()];
    into.insert(into.end(), groups[i].begin(), groups[i].end());
  }
  return merged;
}

std::vector<Group> fold_row(const Cluster& cluster, const Group& all) {
  std::vector<Group> single;
  for (const VertexId id : all) {
    single.push_back({id});
  }
  if (all.size() <= kMostBoxes) {
    return single;
  }
  for (const auto attribute : {&Vertex::pod, &Vertex::plane}) {
    const std::vector<Group> groups = groups_by(cluster, all, attribute);
    if (groups.size() > 1 && groups.size() < all.size()) {
      return groups.size() <= kMostBoxes ? groups : merge(groups, kFoldedBoxes);
    }
  }
  return merge(single, kFoldedBoxes);
}

class Folder {
 public:
  explicit Folder(const Cluster& cluster)
      : cluster_(cluster), graph_(cluster), box_of_(cluster.vertices().size(), kNoBox) {}

  FoldedCluster fold() {
    folded_.title = title();
    find_backend();
    for (const VertexKind kind : {VertexKind::kCore, VertexKind::kSpine, VertexKind::kLeaf}) {
      add_switch_row(kind);
    }
    if (cluster_.nodes().size() <= kMostOpenHosts) {
      add_insides();
    } else {
      add_hosts();
      add_switch_row(VertexKind::kNvswitch);
    }
    add_wires();
    add_notes();
    return std::move(folded_);
  }

 private:
  std::string title() const {
    const std::size_t gpus = cluster_.gpus().size();
    const std::size_t hosts = cluster_.nodes().size();
    return fmt::format("{}: {} GPU{}, {} host{}", cluster_.name.empty() ? "cluster" : cluster_.name, gpus,
                       gpus == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
  }

  // Switches with a cable of the back end; where there is none, those of any network.
  void find_backend() {
    in_backend_.assign(cluster_.vertices().size(), false);
    bool any = false;
    for (const Link& link : cluster_.links()) {
      if (link.kind == LinkKind::kCable && link.network == Network::kBackend) {
        in_backend_[link.from.at()] = in_backend_[link.to.at()] = any = true;
      }
    }
    network_ = any ? Network::kBackend : Network::kFrontend;
    if (!any) {
      for (const Link& link : cluster_.links()) {
        if (link.kind == LinkKind::kCable) {
          in_backend_[link.from.at()] = in_backend_[link.to.at()] = true;
        }
      }
    }
  }

  std::size_t add_row(const std::string& name) {
    folded_.rows.push_back({name, {}});
    return folded_.rows.size() - 1;
  }

  std::size_t add_box(std::size_t row, VertexKind kind, const std::string& name, const std::string& detail) {
    Box box;
    box.row = row;
    box.kind = kind;
    box.name = name;
    box.detail = detail;
    folded_.boxes.push_back(std::move(box));
    return folded_.boxes.size() - 1;
  }

  // Spreads the boxes of a row from `first` on over a part of the width.
  void spread(std::size_t first, double left, double right) {
    const std::size_t count = folded_.boxes.size() - first;
    for (std::size_t i = 0; i < count; ++i) {
      Box& box = folded_.boxes[first + i];
      box.width = (right - left) / static_cast<double>(count);
      box.centre = left + (static_cast<double>(i) + 0.5) * box.width;
    }
    if (count > 0) {
      const long whole_row = std::lround(static_cast<double>(count) / (right - left));
      folded_.columns = std::max(folded_.columns, static_cast<std::size_t>(whole_row));
    }
  }

  std::string name_of(const Group& group) const {
    const std::string& first = cluster_.vertex(group.front()).name;
    const std::string& last = cluster_.vertex(group.back()).name;
    if (group.size() == 1) {
      return first;
    }
    const std::string from = before_slash(first);
    const std::string to = before_slash(last);
    return from.empty() || to.empty() ? range(first, last) : range(from, to);
  }

  void add_switch_row(VertexKind kind) {
    Group all;
    for (const VertexId id : cluster_.of_kind(kind)) {
      // NVSwitches of a rack; those of a host are inside its box.
      if (kind == VertexKind::kNvswitch ? !cluster_.vertex(id).node : in_backend_[id.at()]) {
        all.push_back(id);
      }
    }
    if (all.empty()) {
      return;
    }
    const std::size_t row = add_row(std::string(to_string(kind)));
    const std::size_t first = folded_.boxes.size();
    for (const Group& group : fold_row(cluster_, all)) {
      const std::size_t box = add_box(row, kind, name_of(group), group.size() > 1 ? plural(kind, group.size()) : "");
      for (const VertexId id : group) {
        box_of_[id.at()] = box;
      }
    }
    spread(first, 0.0, 1.0);
    if (kind == VertexKind::kNvswitch) {
      note_types(row, all);
    }
    tier_of_row_[row] = kind;
  }

  // Hosts by the box of the leaf that their first back-end NIC is on.
  void add_hosts() {
    std::vector<std::size_t> leaf_box(cluster_.nodes().size(), kNoBox);
    std::vector<std::int64_t> gpus(cluster_.nodes().size(), 0);
    for (const Vertex& vertex : cluster_.vertices()) {
      if (vertex.node && vertex.kind == VertexKind::kGpu) {
        ++gpus[vertex.node->at()];
      }
    }
    for (const Link& link : cluster_.links()) {
      for (const auto& [end, other] : {std::pair(link.from, link.to), std::pair(link.to, link.from)}) {
        const std::optional<NodeId> node = cluster_.vertex(end).node;
        if (node && link.kind == LinkKind::kCable && leaf_box[node->at()] == kNoBox) {
          leaf_box[node->at()] = box_of_[other.at()];
        }
      }
    }
    const std::size_t row = add_row("hosts");
    note_types(row, cluster_.gpus());
    const std::size_t first = folded_.boxes.size();
    std::vector<std::vector<std::size_t>> groups = host_groups(leaf_box);
    std::vector<std::size_t> box_of_node(cluster_.nodes().size(), kNoBox);
    for (const std::vector<std::size_t>& group : groups) {
      std::int64_t total = 0;
      for (const std::size_t node : group) {
        total += gpus[node];
        box_of_node[node] = folded_.boxes.size();
      }
      const std::string name =
          group.size() == 1 ? cluster_.nodes()[group.front()] : fmt::format("{} hosts", group.size());
      folded_.boxes[add_box(row, VertexKind::kGpu, name, fmt::format("{} GPUs", total))].hosts = true;
    }
    spread(first, 0.0, 1.0);
    for (std::size_t v = 0; v < box_of_.size(); ++v) {
      if (const std::optional<NodeId> node = cluster_.vertices()[v].node) {
        box_of_[v] = box_of_node[node->at()];
      }
    }
  }

  std::vector<std::vector<std::size_t>> host_groups(const std::vector<std::size_t>& leaf_box) const {
    std::vector<std::vector<std::size_t>> groups;
    if (leaf_box.size() <= kMostBoxes) {
      for (std::size_t node = 0; node < leaf_box.size(); ++node) {
        groups.push_back({node});
      }
      return groups;
    }
    std::map<std::size_t, std::vector<std::size_t>> by_box;
    for (std::size_t node = 0; node < leaf_box.size(); ++node) {
      by_box[leaf_box[node]].push_back(node);
    }
    for (auto& [box, nodes] : by_box) {
      groups.push_back(std::move(nodes));
    }
    return groups;
  }

  // NICs, PCIe switches, CPUs, GPUs and NVSwitches of each host below its part of the width.
  void add_insides() {
    const std::size_t hosts = std::max<std::size_t>(cluster_.nodes().size(), 1);
    folded_.first_inside_row = folded_.rows.size();
    for (std::size_t node = 0; node < cluster_.nodes().size(); ++node) {
      const double share = 1.0 / static_cast<double>(hosts);
      const double gap = 0.01 * share;
      folded_.hosts.push_back({cluster_.nodes()[node], static_cast<double>(node) * share + gap,
                               static_cast<double>(node + 1) * share - gap});
    }
    for (const VertexKind kind :
         {VertexKind::kNic, VertexKind::kPcieSwitch, VertexKind::kCpu, VertexKind::kGpu, VertexKind::kNvswitch}) {
      add_inside_row(kind);
    }
  }

  void add_inside_row(VertexKind kind) {
    std::map<std::optional<NodeId>, Group> by_node;
    for (const VertexId id : cluster_.of_kind(kind)) {
      const bool front = kind == VertexKind::kNic && network_ == Network::kBackend &&
                         network_of(cluster_, graph_, id) == Network::kFrontend;
      if (!front) {
        by_node[cluster_.vertex(id).node].push_back(id);
      }
    }
    if (by_node.empty()) {
      return;
    }
    const std::size_t row = add_row(std::string(to_string(kind)));
    Group all;
    for (const auto& [node, group] : by_node) {
      const std::size_t first = folded_.boxes.size();
      for (const VertexId id : group) {
        box_of_[id.at()] = add_box(row, kind, after_slash(cluster_.vertex(id).name), "");
      }
      spread(first, node ? folded_.hosts[node->at()].left : 0.0, node ? folded_.hosts[node->at()].right : 1.0);
    }
    for (const auto& [node, group] : by_node) {
      all.insert(all.end(), group.begin(), group.end());
    }
    note_types(row, all);
  }

  void note_types(std::size_t row, const Group& devices) {
    std::map<std::string, std::size_t> types;
    for (const VertexId id : devices) {
      ++types[cluster_.type(id).name];
    }
    for (const auto& [type, count] : types) {
      folded_.rows[row].notes.push_back(fmt::format("{} x {}", count, type.empty() ? "unnamed" : type));
    }
  }

  void add_wires() {
    std::map<std::tuple<std::size_t, std::size_t, LinkKind>, Wire> wires;
    for (const Link& link : cluster_.links()) {
      const std::size_t a = box_of_[link.from.at()];
      const std::size_t b = box_of_[link.to.at()];
      if (a == kNoBox || b == kNoBox || a == b || (link.kind == LinkKind::kCable && link.network != network_)) {
        continue;
      }
      Wire& wire = wires[{std::min(a, b), std::max(a, b), link.kind}];
      wire.from = std::min(a, b);
      wire.to = std::max(a, b);
      wire.kind = link.kind;
      wire.links += link.kind == LinkKind::kCable ? link.width : 1;
      wire.bandwidth += link.bandwidth;
    }
    for (const auto& [ends, wire] : wires) {
      folded_.wires.push_back(wire);
    }
  }

  void add_notes() {
    for (const Tier& tier : tiers(cluster_, network_)) {
      for (const auto& [row, kind] : tier_of_row_) {
        if (kind != tier.kind) {
          continue;
        }
        std::vector<std::string>& notes = folded_.rows[row].notes;
        for (const auto& [type, count] : tier.types) {
          notes.push_back(fmt::format("{} x {}", count, type.empty() ? "unnamed" : type));
        }
        if (tier.up.count > 0) {
          notes.push_back(fmt::format("{} cables up, {}", tier.up.count, format_quantity(tier.up.bandwidth)));
        }
        if (tier.within.count > 0) {
          notes.push_back(fmt::format("{} cables between them", tier.within.count));
        }
        if (const std::optional<double> ratio = tier.oversubscription()) {
          notes.push_back(fmt::format("{:.3g}:1 down to up", *ratio));
        }
      }
    }
  }

  const Cluster& cluster_;
  ClusterGraph graph_;
  std::vector<std::size_t> box_of_;
  std::vector<bool> in_backend_;
  std::map<std::size_t, VertexKind> tier_of_row_;
  Network network_ = Network::kBackend;
  FoldedCluster folded_;
};

}  // namespace

FoldedCluster fold(const Cluster& cluster) { return Folder(cluster).fold(); }

}  // namespace trainyard
