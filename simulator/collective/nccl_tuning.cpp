#include "simulator/collective/nccl_tuning.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/error.h"
#include "simulator/collective/curve_shape.h"
#include "simulator/collective/hamiltonian_rings.h"
#include "simulator/collective/nccl_tuning_tables.h"

namespace trainyard::simulator {

namespace {

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;

std::span<const double> intra_speeds(GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::kHopper:
      return nccl::kHopperIntra;
    case GpuGeneration::kBlackwell:
      return nccl::kBlackwellIntra;
    default:
      return nccl::kOlderIntra;
  }
}

std::span<const double> inter_speeds(GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::kHopper:
      return nccl::kHopperInter;
    case GpuGeneration::kBlackwell:
      return nccl::kBlackwellInter;
    default:
      return nccl::kOlderInter;
  }
}

double links_of(const CollectiveSite& site, const LinkFacts& facts) {
  if (site.links == NodeLinks::kCubeMesh) {
    const int rings = site.ranks_per_node() >= 2 ? cube_mesh_rings(std::min(site.ranks_per_node(), 8)) : 0;
    return std::max(rings * 20.0, 10.0) * kGiga;  // SM70_NVLINK_BW a ring
  }
  const BytesPerSecond links = site.intra_bandwidth.si() > 0.0 ? site.intra_bandwidth : facts.of(site.generation).links;
  return links.si();
}

// The first of the speeds that gives the most channels times speed within `total`.
NcclGraph best_split(std::span<const double> speeds, double total) {
  NcclGraph best{1, total, total};
  double most = 0.0;
  for (const double speed : speeds) {
    const double fit = std::min(std::floor(total / (speed * kGiga)), nccl::kMostChannels / 2.0);
    if (fit >= 1.0 && fit * speed > most + 1e-9) {
      most = fit * speed;
      best = {static_cast<int>(fit), speed * kGiga, speed * kGiga};
    }
  }
  return best;
}

struct Context {
  const CollectiveSite& site;
  CollectiveOp op;
  const LinkFacts& facts;
  double ranks;
  double nodes;
  double local;
  double log2_nodes;
  std::size_t row;
  std::size_t by_nodes;
  NcclGraph ring;
  NcclGraph nvls;
  const nccl::HopLatency& intra;
};

double steps_of(const Context& context) {
  switch (context.op) {
    case CollectiveOp::kAllReduce:
      return 2.0 * (context.ranks - 1.0);
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
      return context.ranks - 1.0;
    default:
      return context.ranks;
  }
}

double ring_latency(const Context& context, std::size_t protocol) {
  const double base = nccl::kRingBase.at(protocol);
  const double intra = context.intra.ring.at(protocol);
  const double inter = nccl::kNetworkHop.ring.at(protocol);
  if (context.op == CollectiveOp::kBroadcast || context.op == CollectiveOp::kReduce) {
    return base + (context.nodes > 1.0 ? inter : intra);  // the rest of the ring overlaps
  }
  const double ways = context.op == CollectiveOp::kAllReduce ? 2.0 : 1.0;
  const double network = ways * (context.nodes - 1.0);
  double overhead = context.site.cpu == CpuVendor::kAmd ? 2.0 : 1.0;
  if (protocol == 2) {
    overhead *= 3.0;
  }
  return base + (steps_of(context) - network) * std::max(intra, overhead) + network * inter;
}

double latency_of(const Context& context, NcclAlgorithm algorithm, std::size_t protocol) {
  const nccl::HopLatency& net = nccl::kNetworkHop;
  const double trees = 2.0 * context.log2_nodes;
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      return ring_latency(context, protocol);
    case NcclAlgorithm::kTree:
      return nccl::kTreeBase.at(protocol) + 2.0 * (context.local - 1.0) * context.intra.tree.at(protocol) +
             trees * net.tree.at(protocol);
    case NcclAlgorithm::kNvls:
      return context.intra.nvls + (context.nodes > 1.0 ? net.nvls : 0.0);
    case NcclAlgorithm::kNvlsTree:
      return context.intra.nvls_tree + trees * net.nvls_tree;
    case NcclAlgorithm::kCollNetDirect:
      return 2.0 * (std::min(1.0, context.local - 1.0) * context.intra.collnet_direct + 0.4 * (context.local - 1.0)) +
             net.collnet_direct;
    case NcclAlgorithm::kCollNetChain:
      return 2.0 * (context.local - 1.0) * context.intra.collnet_chain + net.collnet_chain;
    case NcclAlgorithm::kPat:
      return nccl::kPatBase + context.log2_nodes * net.pat / 3.5 + 2.8 * context.ranks;
    case NcclAlgorithm::kDirect:
      break;
  }
  check_failed("NCCL doesn't tune direct exchange", std::source_location::current());
}

double tree_bus(const Context& context, double bus, std::size_t protocol) {
  const auto channels = static_cast<double>(context.ring.channels);
  if (protocol == 0) {
    return std::min(0.92 * bus / 3.8, nccl::kLlBus.at(context.row).at(context.by_nodes) * kGiga);
  }
  if (protocol == 1) {
    const double share = context.nodes > 1.0 ? 120.0 / 128.0 : 7.0 / 9.0;
    return std::min(0.92 * bus * share,
                    channels * nccl::kTreeLl128Channel.at(context.row).at(context.by_nodes) * kGiga);
  }
  return std::min(0.92 * bus, channels * nccl::kTreeChannel.at(context.row).at(context.by_nodes) * kGiga);
}

double nvls_bus(const Context& context) {
  const double heads = context.nvls.channels;
  const double ways = context.op == CollectiveOp::kAllReduce ? 2.0 : 1.0;
  return heads * context.nvls.intra * nccl::kNvlsEfficiency.at(context.row) * (heads - 1.0) / heads * ways;
}

// Bus bandwidth, bytes a second.
double bus_of(const Context& context, NcclAlgorithm algorithm, std::size_t protocol) {
  const auto channels = static_cast<double>(context.ring.channels);
  const double between = channels * context.ring.inter;
  const double bus = channels * (context.nodes <= 2.0 ? context.ring.intra : context.ring.inter);
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      if (protocol == 0) {
        return std::min(0.5 * bus, nccl::kLlBus.at(context.row).at(context.by_nodes) * kGiga);
      }
      return protocol == 1 ? std::min(0.92 * bus, channels * nccl::kRingLl128Channel.at(context.row) * kGiga) : bus;
    case NcclAlgorithm::kTree:
      return tree_bus(context, bus, protocol);
    case NcclAlgorithm::kNvls:
      return context.nodes > 1.0 ? std::min(nvls_bus(context), 2.0 * between) : nvls_bus(context);
    case NcclAlgorithm::kNvlsTree:
      return std::min({nvls_bus(context), between * (context.nodes <= 2.0 ? 2.0 : 1.0),
                       channels * nccl::kNvlsTreeChannel.at(context.row).at(context.by_nodes) * kGiga});
    case NcclAlgorithm::kCollNetDirect: {
      const double per_nic = std::max(1.0, context.local / std::max(1.0, static_cast<double>(context.site.nics)));
      return channels * context.ring.intra / per_nic * (context.row >= 2 ? 0.85 : 1.0);
    }
    case NcclAlgorithm::kCollNetChain:
      return channels * context.ring.intra;
    case NcclAlgorithm::kPat:
      return 0.75 * bus;
    case NcclAlgorithm::kDirect:
      break;
  }
  check_failed("NCCL doesn't tune direct exchange", std::source_location::current());
}

double algbw_of(const Context& context, NcclAlgorithm algorithm, double bus) {
  switch (algorithm) {
    case NcclAlgorithm::kTree:
    case NcclAlgorithm::kCollNetDirect:
    case NcclAlgorithm::kCollNetChain:
      return 0.5 * bus;
    default:
      return bus * context.ranks / steps_of(context);
  }
}

int channels_for(int channels, double size, std::size_t protocol) {
  while (channels > 1 && size < channels * nccl::kThreads.at(protocol) * nccl::kThreadThreshold.at(protocol)) {
    --channels;
  }
  return channels;
}

NcclEstimate estimate(const Context& context, NcclAlgorithm algorithm, std::size_t protocol, double size) {
  NcclEstimate result;
  result.algorithm = algorithm;
  result.protocol = static_cast<NcclProtocol>(protocol);
  const bool nvls = algorithm == NcclAlgorithm::kNvls || algorithm == NcclAlgorithm::kNvlsTree;
  const int channels = nvls ? (context.row == 3 ? (context.nodes > 1.0 ? 32 : 24) : 16) : context.ring.channels;
  result.channels = channels_for(channels, size, protocol);
  double algbw = algbw_of(context, algorithm, bus_of(context, algorithm, protocol));
  double latency = latency_of(context, algorithm, protocol);
  const double log_size = std::log2(std::max(1.0, size / 64.0));
  if (algorithm == NcclAlgorithm::kTree && log_size < static_cast<double>(nccl::kTreeFactors)) {
    algbw *= nccl::kTreeFactor.at(protocol).at(static_cast<std::size_t>(log_size));
  }
  if (algorithm == NcclAlgorithm::kRing && protocol == 2 && context.nodes > 1.0 &&
      context.op == CollectiveOp::kAllReduce && size / (context.ring.channels * context.ranks) >= 64.0) {
    latency *= context.row < 1 ? 1.9 : 1.4;
  }
  result.latency = from_si<Seconds>(latency * kMicro);
  result.algbw = from_si<BytesPerSecond>(algbw);
  result.time = from_si<Seconds>(latency * kMicro + size / algbw);
  return result;
}

bool simple_only(NcclAlgorithm algorithm) {
  return algorithm != NcclAlgorithm::kRing && algorithm != NcclAlgorithm::kTree;
}

}  // namespace

NcclGraph ring_graph(const CollectiveSite& site, const LinkFacts& facts) {
  const double links = links_of(site, facts);
  NcclGraph graph;
  if (site.nodes == 1) {
    graph = best_split(intra_speeds(site.generation), links);
    // Duplicated at half the speed, then doubled: as many channels as a GPU can feed.
    const int copies = site.links == NodeLinks::kPcie ? 2 : 4;
    graph.channels *= copies;
    graph.intra /= copies;
    graph.inter = graph.intra;
  } else {
    const double nic = site.nic_rate.si();
    double speed = nic;
    for (const double candidate : inter_speeds(site.generation)) {
      if (candidate * kGiga <= nic) {
        speed = candidate * kGiga;
        break;
      }
    }
    graph.channels = std::max(1, site.nics);
    graph.inter = speed;
    graph.intra = site.ranks_per_node() > 1 ? std::max(speed, std::min(links / graph.channels, 2.0 * speed)) : speed;
    while (graph.channels < 16) {
      graph.channels *= 2;
      graph.inter /= 2.0;
      graph.intra /= 2.0;
    }
  }
  graph.channels = std::min(graph.channels, nccl::kMostChannels);
  return graph;
}

NcclGraph nvls_graph(const CollectiveSite& site, const LinkFacts& facts) {
  NcclGraph graph;
  graph.channels = site.ranks_per_node();  // heads
  // A link carries every head's data and its own share twice.
  const double room = links_of(site, facts) / (graph.channels + 1.0);
  for (const double speed : intra_speeds(site.generation)) {
    if (speed * kGiga <= room) {
      graph.intra = speed * kGiga;
      break;
    }
  }
  if (graph.intra <= 0.0) {  // NVLink domains have more heads than the list foresees
    graph.intra = room;
  }
  graph.inter = graph.intra;
  return graph;
}

std::vector<NcclEstimate> nccl_estimates(const CollectiveSite& site, CollectiveOp op, Bytes size,
                                         const LinkFacts& facts) {
  std::vector<NcclEstimate> estimates;
  if (op == CollectiveOp::kAllToAll || op == CollectiveOp::kSendRecv) {
    return estimates;
  }
  const Context context = {site,
                           op,
                           facts,
                           static_cast<double>(site.ranks),
                           static_cast<double>(site.nodes),
                           static_cast<double>(site.ranks_per_node()),
                           std::log2(static_cast<double>(site.nodes)),
                           nccl::generation_row(site.generation),
                           static_cast<std::size_t>(std::min(site.nodes, 3) - 1),
                           ring_graph(site, facts),
                           nvls_graph(site, facts),
                           site.links == NodeLinks::kPcie ? nccl::kPcieHop : nccl::kNvlinkHop};
  for (const NcclAlgorithm algorithm : possible_algorithms(site, op, facts)) {
    for (std::size_t protocol = simple_only(algorithm) ? 2 : 0; protocol < kNcclProtocols; ++protocol) {
      const bool no_ll128 = site.links == NodeLinks::kPcie && protocol == 1;  // needs NVLink
      if (!no_ll128) {
        estimates.push_back(estimate(context, algorithm, protocol, size.si()));
      }
    }
  }
  return estimates;
}

std::optional<std::size_t> nccl_choice(const CollectiveSite& site, Bytes size,
                                       const std::vector<NcclEstimate>& estimates) {
  if (estimates.empty()) {
    return std::nullopt;
  }
  const bool rings_only = site.nvl_domain && site.nodes > 2 && size >= 512_MiB;
  const auto rank = [rings_only](const NcclEstimate& estimate) {
    return std::pair(rings_only && estimate.algorithm != NcclAlgorithm::kRing, estimate.time.si());
  };
  const auto least = std::min_element(estimates.begin(), estimates.end(),
                                      [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return static_cast<std::size_t>(least - estimates.begin());
}

}  // namespace trainyard::simulator
