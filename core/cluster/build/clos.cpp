#include "core/cluster/build/clos.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace trainyard::build {

namespace {

std::vector<VertexId> flatten(const std::vector<std::vector<VertexId>>& lists) {
  std::vector<VertexId> all;
  for (const std::vector<VertexId>& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

// Lists longer than `most` are cut into pieces of equal length, within one.
std::vector<std::vector<VertexId>> cut(const std::vector<std::vector<VertexId>>& lists, int most) {
  std::vector<std::vector<VertexId>> pieces;
  for (const std::vector<VertexId>& list : lists) {
    const int size = static_cast<int>(list.size());
    const int count = ceil_divide(size, most);
    for (int i = 0; i < count; ++i) {
      pieces.emplace_back(list.begin() + static_cast<std::int64_t>(i) * size / count,
                          list.begin() + static_cast<std::int64_t>(i + 1) * size / count);
    }
  }
  return pieces;
}

struct CorePlanes {
  int planes = 1;
  int cores = 1;  // of a plane
};

// As few planes as make a spine reach every core of its plane.
CorePlanes core_planes(int groups, int spines, int uplinks, int radix) {
  for (int planes = 1; planes <= spines; ++planes) {
    const int cores = ceil_divide(groups * (spines / planes) * uplinks, radix);
    if (spines % planes == 0 && cores <= uplinks) {
      return {planes, cores};
    }
  }
  return {spines, std::max(1, ceil_divide(groups * uplinks, radix))};
}

}  // namespace

Leaves add_leaves(Assembler& assembler, const std::vector<Host>& hosts, const LeafPlan& plan) {
  const int count = ceil_divide(static_cast<int>(hosts.size()), plan.hosts_per_leaf);
  const std::size_t rails = plan.rail_optimised ? hosts.front().nics.size() : 1;
  const int leaves_per_pod = plan.leaves_per_pod > 0 ? plan.leaves_per_pod : 1;
  const int pods = ceil_divide(count, leaves_per_pod);
  Leaves leaves(rails);
  for (int group = 0; group < count; ++group) {
    const int pod = group / leaves_per_pod;
    for (std::size_t rail = 0; rail < rails; ++rail) {
      const int in_pod = (group % leaves_per_pod) * static_cast<int>(rails) + static_cast<int>(rail);
      const std::string plane = plan.plane ? fmt::format("p{}/", *plan.plane) : "";
      const std::string name = fmt::format("{}{}/{}", plane, padded(plan.pod, pod, pods),
                                           padded("leaf", in_pod, leaves_per_pod * static_cast<int>(rails)));
      leaves[rail].push_back(assembler.add_switch(
          VertexKind::kLeaf, name, plan.device, pod,
          plan.rail_optimised ? std::optional<int>(static_cast<int>(rail)) : std::nullopt, plan.plane));
    }
  }
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    const std::size_t group = h / static_cast<std::size_t>(plan.hosts_per_leaf);
    for (std::size_t nic = 0; nic < hosts[h].nics.size(); ++nic) {
      assembler.connect(hosts[h].nics[nic], leaves[plan.rail_optimised ? nic : 0][group], plan.cabling);
    }
  }
  return leaves;
}

std::optional<int> two_tier_spines(int leaves, const UpperPlan& plan) {
  const int needed = ceil_divide(leaves * plan.leaf_uplinks, plan.spine_radix);
  if (needed > plan.leaf_uplinks) {
    return std::nullopt;
  }
  return divisor_at_least(plan.leaf_uplinks, needed);
}

void add_two_tiers(Assembler& assembler, const std::vector<VertexId>& leaves, int spines, const UpperPlan& plan) {
  std::vector<VertexId> upper;
  for (int i = 0; i < spines; ++i) {
    upper.push_back(assembler.add_switch(VertexKind::kSpine, plan.prefix + padded("spine", i, spines),
                                         plan.spine_device, std::nullopt, std::nullopt, plan.plane));
  }
  assembler.connect_evenly(leaves, upper, plan.leaf_uplinks, plan.leaf_spine);
}

void add_three_tiers(Assembler& assembler, const std::vector<std::vector<VertexId>>& groups, const UpperPlan& plan) {
  const double down_share = plan.spine_oversubscription / (1.0 + plan.spine_oversubscription);
  const int down_ports = std::max(1, static_cast<int>(plan.spine_radix * down_share));
  std::size_t largest = 0;
  for (const std::vector<VertexId>& group : groups) {
    largest = std::max(largest, group.size());
  }
  const int group_links = static_cast<int>(largest) * plan.leaf_uplinks;
  const int spines = divisor_at_least(plan.leaf_uplinks, ceil_divide(group_links, down_ports));
  const int uplinks = std::max(1, static_cast<int>(std::lround(group_links / (spines * plan.spine_oversubscription))));
  const CorePlanes shape = core_planes(static_cast<int>(groups.size()), spines, uplinks, plan.core_radix);
  if (shape.cores > uplinks) {  // spines would reach some cores only, and pods without a core in common not each other
    throw Error(
        fmt::format("{} groups of leaves are more than three tiers of {} ports join", groups.size(), plan.core_radix),
        "hosts", "fewer hosts or a larger radix");
  }
  std::vector<std::vector<VertexId>> by_plane(static_cast<std::size_t>(shape.planes));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string group = plan.prefix + padded(plan.group, static_cast<int>(g), static_cast<int>(groups.size()));
    std::vector<VertexId> upper;
    for (int i = 0; i < spines; ++i) {
      upper.push_back(assembler.add_switch(VertexKind::kSpine, group + "/" + padded("spine", i, spines),
                                           plan.spine_device, static_cast<int>(g), std::nullopt, plan.plane));
      by_plane[static_cast<std::size_t>(i % shape.planes)].push_back(upper.back());
    }
    assembler.connect_evenly(groups[g], upper, plan.leaf_uplinks, plan.leaf_spine);
  }
  for (int p = 0; p < shape.planes; ++p) {
    std::vector<VertexId> cores;
    for (int i = 0; i < shape.cores; ++i) {
      cores.push_back(assembler.add_switch(
          VertexKind::kCore, plan.prefix + padded("core", p * shape.cores + i, shape.planes * shape.cores),
          plan.core_device, std::nullopt, std::nullopt, plan.plane));
    }
    assembler.connect_evenly(by_plane[static_cast<std::size_t>(p)], cores, uplinks, plan.spine_core);
  }
}

void add_upper_tiers(Assembler& assembler, const Leaves& leaves, const UpperPlan& plan) {
  const std::vector<VertexId> all = flatten(leaves);
  if (all.size() <= 1) {
    return;
  }
  if (const std::optional<int> spines = two_tier_spines(static_cast<int>(all.size()), plan)) {
    add_two_tiers(assembler, all, *spines, plan);
    return;
  }
  const double down_share = plan.spine_oversubscription / (1.0 + plan.spine_oversubscription);
  // A leaf has a cable to every spine of its group, so a group is at most the down ports of a spine.
  const int most = std::max(1, static_cast<int>(plan.spine_radix * down_share));
  add_three_tiers(assembler, cut(leaves, most), plan);
}

}  // namespace trainyard::build
