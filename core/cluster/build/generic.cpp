// Fat tree, rail-only, torus and dragonfly of any size, with hosts of any number of GPUs and NICs.
//
// Sources: fat tree: Al-Fares et al. 2008; rail-only: Wang et al. 2023 (arXiv 2307.12169); dragonfly: Kim et al.
// 2008: p hosts a router, a routers a group joined all to all, h global links a router, at most a h + 1 groups.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "core/cluster/build/builders.h"
#include "core/cluster/build/clos.h"
#include "core/cluster/build/front_end.h"

namespace trainyard::build {

namespace {

constexpr int kMostHosts = 300000;
constexpr int kMostGpus = 1 << 20;

struct Common {
  HostType host;
  Cabling cabling;
  CongestionControl control = CongestionControl::kCredit;
  const char* device = "Quantum-2 QM9700";
};

std::vector<BuilderKey> common_keys() {
  return {{"gpus", "GPUs of a host", "8"},
          {"nics", "back-end NICs (rails) of a host", "as gpus"},
          {"nvlink", "GPUs of a host on NVLink: yes or no", "yes"},
          {"rate", "of a NIC and of every cable", "400 Gbit/s"},
          {"fabric", "infiniband or ethernet", "infiniband"},
          {"front-end", "storage network: yes or no", "no"}};
}

std::vector<BuilderKey> with_common(std::vector<BuilderKey> keys) {
  for (BuilderKey& key : common_keys()) {
    keys.push_back(std::move(key));
  }
  return keys;
}

Common read_common(const BuildOptions& options) {
  Common common;
  common.host = dgx_h100();
  common.host.name = "host";
  common.host.gpus = options.integer("gpus", 1, 64);
  common.host.nics = options.given("nics") ? options.integer("nics", 1, 64) : common.host.gpus;
  common.host.gpus_per_pcie_switch = std::max(1, common.host.gpus / common.host.nics);
  if (common.host.gpus == 1 || !options.yes("nvlink")) {
    common.host.nvlink_generation = 0;
  }
  common.host.cpus = common.host.gpus > 1 ? 2 : 1;
  common.host.nic_rate = options.rate("rate");
  if (!options.yes("front-end")) {
    common.host.front_nics = 0;
  }
  common.cabling = {common.host.nic_rate, {CableType::kActiveOptical, 30.0}, Network::kBackend};
  if (options.choice("fabric", {"infiniband", "ethernet"}) == "ethernet") {
    common.control = CongestionControl::kPfc;
    common.device = "Tomahawk 4";
  }
  return common;
}

std::vector<Host> add_hosts(Assembler& assembler, const Common& common, int count, const BuildOptions& options) {
  if (count > kMostHosts || count * static_cast<std::int64_t>(common.host.gpus) > kMostGpus) {
    options.fail(fmt::format("{} hosts of {} GPUs", count, common.host.gpus),
                 fmt::format("at most {} hosts and {} GPUs", kMostHosts, kMostGpus));
  }
  assembler.cluster().congestion_control = common.control;
  assembler.cluster().reserve(static_cast<std::size_t>(count) * (vertices_of(common.host) + 2),
                              static_cast<std::size_t>(count) * (links_of(common.host) + 8));
  std::vector<Host> hosts;
  for (int i = 0; i < count; ++i) {
    hosts.push_back(add_host(assembler, common.host, padded("node", i, count)));
  }
  return hosts;
}

Cluster finish(Assembler& assembler, const std::vector<Host>& hosts, const Common& common) {
  add_front_end(assembler, hosts, common.host.front_rate);
  return assembler.take();
}

// Ports of a switch of `radix` that face down when `down` : up is the oversubscription.
int down_ports(int radix, double oversubscription) {
  const int down = static_cast<int>(std::lround(radix * oversubscription / (1.0 + oversubscription)));
  return std::min(std::max(down, 1), radix - 1);
}

Cluster fat_tree(const BuildOptions& options) {
  const Common common = read_common(options);
  const int tiers = options.given("tiers") ? options.integer("tiers", 2, 3) : 0;
  const int radix = options.integer("radix", 2, 4096);
  const double oversubscription = options.number("oversubscription", 0.1, 1000.0);
  const double upper_oversubscription = options.number("spine-oversubscription", 0.1, 1000.0);
  const bool rail_optimised = options.yes("rail-optimised");
  const int down = down_ports(radix, oversubscription);
  const int up = std::max(1, std::min(radix - down, static_cast<int>(std::lround(down / oversubscription))));
  if (!rail_optimised && down < common.host.nics) {
    options.fail(fmt::format("a leaf has {} ports down, a host {} NICs", down, common.host.nics),
                 "a larger radix, or rail-optimised=yes");
  }
  Assembler assembler("fat-tree");
  const std::vector<Host> hosts = add_hosts(assembler, common, options.integer("hosts", 1, kMostHosts), options);
  LeafPlan leaf;
  leaf.hosts_per_leaf = rail_optimised ? down : down / common.host.nics;
  leaf.rail_optimised = rail_optimised;
  leaf.device = common.device;
  leaf.cabling = common.cabling;
  UpperPlan upper;
  upper.leaf_uplinks = up;
  upper.spine_radix = upper.core_radix = radix;
  upper.spine_oversubscription = upper_oversubscription;
  upper.spine_device = upper.core_device = common.device;
  upper.leaf_spine = upper.spine_core = common.cabling;
  const Leaves leaves = add_leaves(assembler, hosts, leaf);
  if (tiers == 3) {
    const int most = down_ports(radix, upper_oversubscription);
    Leaves groups;
    for (const std::vector<VertexId>& list : leaves) {
      for (std::size_t begin = 0; begin < list.size(); begin += static_cast<std::size_t>(most)) {
        const std::size_t end = std::min(list.size(), begin + static_cast<std::size_t>(most));
        groups.emplace_back(list.begin() + static_cast<std::int64_t>(begin),
                            list.begin() + static_cast<std::int64_t>(end));
      }
    }
    add_three_tiers(assembler, groups, upper);
  } else {
    const std::size_t count = leaves.size() * leaves.front().size();
    if (tiers == 2 && !two_tier_spines(static_cast<int>(count), upper)) {
      options.fail(fmt::format("{} leaves are too many for two tiers of {} ports", count, radix),
                   "tiers=3, fewer hosts or a larger radix");
    }
    add_upper_tiers(assembler, leaves, upper);
  }
  assembler.note(fmt::format("a leaf has {} ports down and {} up: {:.3g}:1", down, up, static_cast<double>(down) / up));
  return finish(assembler, hosts, common);
}

// No switch joins two rails: other rails are reached over NVLink.
Cluster rail_only(const BuildOptions& options) {
  const Common common = read_common(options);
  const int radix = options.integer("radix", 2, 4096);
  Assembler assembler("rail-only");
  const int count = options.integer("hosts", 1, kMostHosts);
  const std::vector<Host> hosts = add_hosts(assembler, common, count, options);
  LeafPlan leaf;
  leaf.hosts_per_leaf = count <= radix ? count : radix / 2;
  leaf.device = common.device;
  leaf.cabling = common.cabling;
  const Leaves leaves = add_leaves(assembler, hosts, leaf);
  for (std::size_t rail = 0; rail < leaves.size(); ++rail) {
    UpperPlan upper;
    upper.leaf_uplinks = radix / 2;
    upper.spine_radix = upper.core_radix = radix;
    upper.spine_device = upper.core_device = common.device;
    upper.leaf_spine = upper.spine_core = common.cabling;
    upper.prefix = fmt::format("rail{}/", rail);
    add_upper_tiers(assembler, {leaves[rail]}, upper);
  }
  return finish(assembler, hosts, common);
}

// A router a host; routers are joined to their neighbours, round in every dimension.
Cluster torus(const BuildOptions& options) {
  const Common common = read_common(options);
  const std::vector<int> sizes = options.dimensions("dims");
  std::int64_t product = 1;
  for (const int size : sizes) {
    product *= size;
    if (product > kMostHosts) {
      options.fail("dims=" + options.text("dims"), fmt::format("at most {} hosts", kMostHosts));
    }
  }
  const int count = static_cast<int>(product);
  Assembler assembler("torus");
  const std::vector<Host> hosts = add_hosts(assembler, common, count, options);
  std::vector<VertexId> routers;
  for (int i = 0; i < count; ++i) {
    routers.push_back(assembler.add_switch(VertexKind::kLeaf, padded("router", i, count), "torus router"));
    for (const VertexId nic : hosts[static_cast<std::size_t>(i)].nics) {
      assembler.connect(nic, routers.back(), {common.cabling.rate, {CableType::kPassiveCopper, 1.0}});
    }
  }
  const int cables = options.integer("links", 1, 64);
  int stride = 1;
  for (const int size : sizes) {
    for (int i = 0; i < count && size > 1; ++i) {
      const int at = i / stride % size;
      const int next = i + ((at + 1) % size - at) * stride;
      // Of two in a row each is the other's neighbour both ways: one link, once.
      if (size > 2 || at == 0) {
        assembler.connect(routers[static_cast<std::size_t>(i)], routers[static_cast<std::size_t>(next)], common.cabling,
                          cables);
      }
    }
    stride *= size;
  }
  return finish(assembler, hosts, common);
}

Cluster dragonfly(const BuildOptions& options) {
  const Common common = read_common(options);
  const int p = options.integer("p", 1, 1024);
  const int a = options.given("a") ? options.integer("a", 1, 1024) : 2 * p;
  const int h = options.given("h") ? options.integer("h", 1, 1024) : p;
  const int most = a * h + 1;
  const int groups = options.given("groups") ? options.integer("groups", 1, most) : most;
  if (p % common.host.nics != 0) {
    options.fail(fmt::format("p={} with {} NICs a host", p, common.host.nics), "p a multiple of the NICs of a host");
  }
  const std::int64_t count = std::int64_t{groups} * a * (p / common.host.nics);
  if (count > kMostHosts) {
    options.fail(fmt::format("{} hosts", count), fmt::format("at most {}", kMostHosts));
  }
  Assembler assembler("dragonfly");
  const std::vector<Host> hosts = add_hosts(assembler, common, static_cast<int>(count), options);
  std::vector<VertexId> routers;
  std::size_t host = 0;
  for (int g = 0; g < groups; ++g) {
    for (int r = 0; r < a; ++r) {
      routers.push_back(assembler.add_switch(VertexKind::kLeaf, padded("group", g, groups) + "/" + padded("leaf", r, a),
                                             common.device, g));
      for (int i = 0; i < p / common.host.nics; ++i, ++host) {
        for (const VertexId nic : hosts[host].nics) {
          assembler.connect(nic, routers.back(), {common.cabling.rate, {CableType::kPassiveCopper, 2.0}});
        }
      }
    }
    const std::size_t first = routers.size() - static_cast<std::size_t>(a);
    for (std::size_t r = first; r < routers.size(); ++r) {
      for (std::size_t other = r + 1; other < routers.size(); ++other) {
        assembler.connect(routers[r], routers[other], {common.cabling.rate, {CableType::kPassiveCopper, 3.0}});
      }
    }
  }
  // Global cable k of a group, on router k / h, leads to the group 1 + k mod (groups - 1) further on; the cable
  // from there comes back to the counterpart, groups - 1 - that, so each pair is joined once a round of k.
  const std::size_t routers_of_group = static_cast<std::size_t>(a);
  const int rounds = groups > 1 ? a * h / (groups - 1) : 0;
  for (int g = 0; g < groups; ++g) {
    for (int round = 0; round < rounds; ++round) {
      for (int ahead = 1; g + ahead < groups; ++ahead) {
        const int here = round * (groups - 1) + ahead - 1;
        const int there = round * (groups - 1) + groups - ahead - 1;
        const int other = g + ahead;
        assembler.connect(
            routers[static_cast<std::size_t>(g) * routers_of_group + static_cast<std::size_t>(here / h)],
            routers[static_cast<std::size_t>(other) * routers_of_group + static_cast<std::size_t>(there / h)],
            {common.cabling.rate, {CableType::kSingleMode, 100.0}});
      }
    }
  }
  assembler.note(fmt::format("dragonfly p={} a={} h={}: {} groups of {} routers, {} endpoints", p, a, h, groups, a,
                             groups * a * p));
  return finish(assembler, hosts, common);
}

}  // namespace

std::vector<Builder> generic_builders() {
  return {
      {{"fat-tree", "leaves, spines and, if needed, cores of one kind of switch; rail-optimised or not",
        with_common({{"hosts", "hosts", "128"},
                     {"tiers", "2 or 3", "as few as do"},
                     {"radix", "ports of a switch", "64"},
                     {"oversubscription", "down to up at the leaf", "1"},
                     {"spine-oversubscription", "down to up at the spine of three tiers", "1"},
                     {"rail-optimised", "a leaf serves one rail: yes or no", "yes"}})},
       fat_tree},
      {{"rail-only", "a network of its own for each rail",
        with_common({{"hosts", "hosts", "128"}, {"radix", "ports of a switch", "64"}})},
       rail_only},
      {{"torus", "a router a host, joined to its neighbours round in each dimension",
        with_common({{"dims", "hosts in each dimension", "4x4x4"}, {"links", "cables between neighbours", "1"}})},
       torus},
      {{"dragonfly", "groups of routers joined all to all, global links between groups",
        with_common({{"p", "NICs on a router", "16"},
                     {"a", "routers of a group", "2p"},
                     {"h", "global links of a router", "p"},
                     {"groups", "groups", "a h + 1"}})},
       dragonfly},
  };
}

}  // namespace trainyard::build
