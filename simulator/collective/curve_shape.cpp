#include "simulator/collective/curve_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "simulator/collective/hamiltonian_rings.h"

namespace trainyard::simulator {

namespace {

constexpr BytesPerSecond kUnlimited = from_si<BytesPerSecond>(std::numeric_limits<double>::max());
// Of the fill, by a ring's hops: a broadcast's or a reduction's are a pipeline that overlaps; an all-reduce runs its
// two phases in one kernel and fills once for both.
double ring_fill(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kReduce:
      return 0.5;
    default:
      return 1.0;
  }
}

// What a GPU's links to the other ranks of its node carry, all together.
BytesPerSecond links_in_node(const CollectiveSite& site, int ranks, const LinkFacts& facts) {
  const GenerationLinks& links = facts.of(site.generation);
  if (site.links == NodeLinks::kCubeMesh && links.ring && ranks >= 2) {
    const int rings = cube_mesh_rings(std::min(ranks, 8));
    return rings > 0 ? static_cast<double>(rings) * *links.ring : links.pcie.value_or(*links.ring);
  }
  BytesPerSecond total = site.intra_bandwidth.si() > 0.0 ? site.intra_bandwidth : links.links;
  if (total.si() <= 0.0) {  // V100 on an NVSwitch (DGX-2): six links
    total = 6.0 * links.ring.value_or(from_si<BytesPerSecond>(20e9));
  }
  if (site.links == NodeLinks::kNvswitch && ranks == 2) {
    total *= links.pair;
  }
  if (site.links == NodeLinks::kXgmi && ranks < 8) {  // a link to every other GPU: only those to members serve
    total *= static_cast<double>(std::max(ranks - 1, 1)) / 7.0;
  }
  return total;
}

BytesPerSecond ring_in_node(const CollectiveSite& site, int ranks, const LinkFacts& facts) {
  return facts.of(site.generation).ring_share * links_in_node(site, ranks, facts);
}

bool nvls_serves(const CollectiveSite& site, int ranks, const LinkFacts& facts) {
  const GenerationLinks& links = facts.of(site.generation);
  return site.nvls && links.nvls.has_value() && ranks >= links.nvls_from;
}

BytesPerSecond nvls_in_node(const CollectiveSite& site, int ranks, const LinkFacts& facts) {
  const GenerationLinks& links = facts.of(site.generation);
  const double n = ranks;
  return min(2.0 * (n - 1.0) / (n + 1.0) * *links.nvls, links.nvls_cap.value_or(kUnlimited));
}

// What the node itself allows an all-reduce across nodes.
BytesPerSecond best_in_node(const CollectiveSite& site, const LinkFacts& facts) {
  const int local = site.ranks_per_node();
  if (local < 2) {
    return kUnlimited;
  }
  const BytesPerSecond tree = facts.tree_in_node * links_in_node(site, local, facts);
  return nvls_serves(site, local, facts) ? max(tree, nvls_in_node(site, local, facts)) : tree;
}

std::string named(std::string_view prefix, std::string_view mechanism) {
  return std::string(prefix) + "/" + std::string(mechanism);
}

// PCIe boxes are one class whatever GPU sits in them: the bus decides.
std::string node_class(const CollectiveSite& site, std::string_view mechanism) {
  return site.links == NodeLinks::kPcie ? named("pcie", mechanism) : named(to_string(site.generation), mechanism);
}

bool is_cloud(FabricKind fabric) {
  switch (fabric) {
    case FabricKind::kInfiniband:
    case FabricKind::kRoce:
      return false;
    default:
      return true;
  }
}

// InfiniBand and RoCE carry the same verbs, and their curves agree: one class.
std::string fabric_class(FabricKind fabric, std::string_view mechanism) {
  return is_cloud(fabric) ? named(to_string(fabric), mechanism) : named("rdma", mechanism);
}

double ring_hops(CollectiveOp op, int ranks) {
  return op == CollectiveOp::kAllReduce ? 2.0 * (ranks - 1) : ranks - 1.0;
}

CurveShape node_shape(const CollectiveSite& site, CollectiveOp op, NcclAlgorithm algorithm, const LinkFacts& facts) {
  CurveShape shape;
  shape.cap = kUnlimited;
  shape.bandwidth = ring_in_node(site, site.ranks, facts);
  const double share = ring_fill(op);
  switch (algorithm) {
    case NcclAlgorithm::kNvls:
      if (op == CollectiveOp::kAllReduce) {
        shape.bandwidth = nvls_in_node(site, site.ranks, facts);
      }
      shape.levels = {{node_class(site, "nvls"), "node/nvls", 1.0, 1.0}};
      break;
    case NcclAlgorithm::kDirect:
      shape.levels = {{node_class(site, "direct"), "node/direct", 1.0, 1.0}};
      break;
    case NcclAlgorithm::kTree:
      shape.levels = {{node_class(site, "tree"), "node/tree", ring_hops(op, site.ranks), 1.0}};
      break;
    default:
      shape.levels = {{node_class(site, "ring"), "node/ring", ring_hops(op, site.ranks), share}};
      break;
  }
  return shape;
}

CurveShape domain_ring_shape(const CollectiveSite& site, CollectiveOp op, const LinkFacts& facts) {
  CurveShape shape;
  shape.bandwidth = facts.domain_ring;
  shape.cap = min(ring_in_node(site, site.ranks_per_node(), facts), site.nic_sum());
  shape.levels = {{"nvl_domains/ring", "nvl_domains/ring", ring_hops(op, site.ranks), 1.0}};
  return shape;
}

CurveShape ring_across(const CollectiveSite& site, CollectiveOp op, const LinkFacts& facts) {
  CurveShape shape;
  const double ways = op == CollectiveOp::kAllReduce ? 2.0 : 1.0;
  const double share = ring_fill(op);
  shape.bandwidth = site.nic_sum();
  shape.cap = site.ranks_per_node() < 2 ? kUnlimited : ring_in_node(site, site.ranks_per_node(), facts);
  shape.levels = {{fabric_class(site.fabric, "ring"), "network/ring", ways * (site.nodes - 1), share}};
  if (site.ranks > site.nodes) {
    shape.levels.push_back({node_class(site, "ring"), "node/ring", ways * (site.ranks - site.nodes), share});
  }
  return shape;
}

// Aggregated trees at one GPU a node: log2 N hops, at three quarters of the NICs (NCCL 2.30 src/graph/tuning.cc).
CurveShape pat_across(const CollectiveSite& site) {
  CurveShape shape;
  shape.cap = kUnlimited;
  shape.bandwidth = 0.75 * site.nic_sum();
  shape.levels = {{fabric_class(site.fabric, "ring"), "network/ring", std::log2(static_cast<double>(site.nodes)), 1.0}};
  return shape;
}

CurveShape tree_across(const CollectiveSite& site, NcclAlgorithm algorithm, const LinkFacts& facts) {
  CurveShape shape;
  shape.cap = best_in_node(site, facts);
  // NVLS between nodes exists only with SHARP.
  const bool sharp = algorithm == NcclAlgorithm::kCollNetDirect || algorithm == NcclAlgorithm::kCollNetChain ||
                     algorithm == NcclAlgorithm::kNvls;
  double ways = 1.0;
  if (sharp) {
    ways = facts.sharp;
  } else if (site.nodes == 2) {
    ways = facts.two_nodes;
  } else if (site.nodes == 3) {
    ways = facts.three_nodes;
  }
  shape.bandwidth = ways * site.nic_sum();
  // With SHARP the switches are the tree: up and down once.
  const double hops = sharp ? 2.0 : 2.0 * std::log2(static_cast<double>(site.nodes));
  shape.levels = {{fabric_class(site.fabric, "tree"), is_cloud(site.fabric) ? "cloud/tree" : "rdma/tree", hops, 1.0}};
  return shape;
}

CurveShape direct_across(const CollectiveSite& site, const LinkFacts& facts) {
  CurveShape shape;
  shape.cap = site.ranks_per_node() < 2 ? kUnlimited : ring_in_node(site, site.ranks_per_node(), facts);
  shape.bandwidth = site.nic_sum() / static_cast<double>(site.ranks_per_node());
  shape.levels = {{fabric_class(site.fabric, "direct"), "network/direct", 1.0, 1.0}};
  return shape;
}

void check_site(const CollectiveSite& site) {
  if (site.ranks < 2) {
    throw Error("a collective needs two ranks", "ranks", "one rank moves nothing");
  }
  if (site.nodes < 1 || site.nodes > site.ranks) {
    throw Error("more nodes than ranks", "nodes", "each node holds at least one rank");
  }
  if (site.nodes > 1 && site.nic_sum().si() <= 0.0) {
    throw Error("several nodes, and no NIC rate", "nics", "say what joins the nodes: \"8x400G InfiniBand\"");
  }
}

}  // namespace

std::vector<NcclAlgorithm> possible_algorithms(const CollectiveSite& site, CollectiveOp op, const LinkFacts& facts) {
  const int local = site.ranks_per_node();
  const bool nvls = nvls_serves(site, local, facts);
  switch (op) {
    case CollectiveOp::kAllToAll:
    case CollectiveOp::kSendRecv:
      return {NcclAlgorithm::kDirect};
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kReduce:
      return {NcclAlgorithm::kRing};
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter: {
      std::vector<NcclAlgorithm> algorithms = {NcclAlgorithm::kRing};
      if (nvls && (site.nodes == 1 || site.sharp)) {
        algorithms.push_back(NcclAlgorithm::kNvls);
      }
      if (local == 1 && site.nodes > 1) {
        algorithms.push_back(NcclAlgorithm::kPat);
      }
      return algorithms;
    }
    case CollectiveOp::kAllReduce:
      break;
  }
  std::vector<NcclAlgorithm> algorithms = {NcclAlgorithm::kRing, NcclAlgorithm::kTree};
  if (nvls && site.nodes == 1) {
    algorithms.push_back(NcclAlgorithm::kNvls);
  }
  if (nvls && site.nodes > 1) {
    algorithms.push_back(NcclAlgorithm::kNvlsTree);
    if (site.sharp) {
      algorithms.push_back(NcclAlgorithm::kNvls);
    }
  }
  if (site.sharp && site.nodes > 1) {
    if (local <= 8) {
      algorithms.push_back(NcclAlgorithm::kCollNetDirect);
    }
    algorithms.push_back(NcclAlgorithm::kCollNetChain);
  }
  return algorithms;
}

NcclAlgorithm usual_algorithm(const CollectiveSite& site, CollectiveOp op, const LinkFacts& facts) {
  const bool nvls = nvls_serves(site, site.ranks_per_node(), facts);
  if (op == CollectiveOp::kAllToAll || op == CollectiveOp::kSendRecv) {
    return NcclAlgorithm::kDirect;
  }
  if (op != CollectiveOp::kAllReduce || (site.nvl_domain && site.nodes > 2)) {
    return NcclAlgorithm::kRing;
  }
  if (site.nodes == 1) {
    return nvls ? NcclAlgorithm::kNvls : NcclAlgorithm::kRing;
  }
  if (site.sharp) {
    return NcclAlgorithm::kCollNetDirect;
  }
  return nvls ? NcclAlgorithm::kNvlsTree : NcclAlgorithm::kTree;
}

void limit_channels(CurveShape& shape, int channels, const LinkFacts& facts) {
  if (channels > facts.channel_limit) {
    return;
  }
  std::array<BytesPerSecond, kNcclProtocols> caps;
  for (std::size_t p = 0; p < caps.size(); ++p) {
    caps.at(p) = static_cast<double>(channels) * facts.channel.at(p);
  }
  shape.channel_caps = caps;
}

CurveShape curve_shape(const CollectiveSite& site, CollectiveOp op, NcclAlgorithm algorithm, const LinkFacts& facts) {
  check_site(site);
  CurveShape shape;
  const bool ring = algorithm == NcclAlgorithm::kRing;
  if (site.nodes == 1) {
    shape = node_shape(site, op, algorithm, facts);
  } else if (algorithm == NcclAlgorithm::kDirect) {
    shape = direct_across(site, facts);
  } else if (algorithm == NcclAlgorithm::kPat) {
    shape = pat_across(site);
  } else if (ring && site.nvl_domain && site.nodes > 2) {
    shape = domain_ring_shape(site, op, facts);
  } else if (ring || op != CollectiveOp::kAllReduce) {
    shape = ring_across(site, op, facts);
  } else {
    shape = tree_across(site, algorithm, facts);
  }
  shape.wire_factor = bus_factor(op, site.ranks);
  shape.framework = site.framework;
  return shape;
}

}  // namespace trainyard::simulator
