#include "simulator/collective/flow_anchor.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "simulator/collective/curve_fit.h"
#include "simulator/collective/flow_site.h"

namespace trainyard::simulator {

namespace {

// Equally many ranks on each of the cluster's first nodes, as mpirun -N places them; full nodes where the log doesn't
// name its hosts.
std::vector<VertexId> first_ranks(const CollectiveFabric& fabric, const NcclTestsLog& log, const std::string& where) {
  const auto wanted = static_cast<std::size_t>(log.ranks);
  const std::size_t nodes = log.nodes ? static_cast<std::size_t>(std::max(*log.nodes, 1)) : wanted;
  const std::size_t of_node = log.nodes ? (wanted + nodes - 1) / nodes : wanted;
  std::unordered_map<std::int32_t, std::size_t> taken;  // by host
  std::vector<VertexId> ranks;
  for (const VertexId gpu : fabric.cluster().gpus()) {
    const auto& host = fabric.cluster().vertex(gpu).node;
    const std::int32_t key = host ? host->value() : -1 - fabric.domains().of(gpu);
    const bool fits = taken.contains(key) || taken.size() < nodes;
    if (fits && taken[key] < of_node && ranks.size() < wanted) {
      ++taken[key];
      ranks.push_back(gpu);
    }
  }
  if (ranks.size() < wanted) {
    throw Error(fmt::format("a log of {} ranks{}, which this cluster doesn't have", log.ranks,
                            log.nodes ? fmt::format(" on {} nodes", *log.nodes) : std::string()),
                where, "an anchor is a log of the same cluster, or of a part of it");
  }
  return ranks;
}

// The log names its GPUs: those of another generation have other curves.
void require_same_gpus(const CollectiveSite& site, const NcclTestsLog& log, const std::string& where) {
  const GpuGeneration logged = generation_of(log.device);
  if (logged != GpuGeneration::kOther && site.generation != GpuGeneration::kOther && logged != site.generation) {
    throw Error(fmt::format("is of {}, this cluster's GPUs are {}", log.device, to_string(site.generation)), where,
                "an anchor is a log of the same cluster, or of a part of it");
  }
}

}  // namespace

std::string anchor_series(int nodes, int ranks, CollectiveOp op) {
  return fmt::format("{} nodes, {} ranks, {}", nodes, ranks, to_string(op));
}

CollectiveModels anchored_on(CollectiveFabric& fabric, const CollectiveModels& models,
                             std::span<const std::pair<std::string, NcclTestsLog>> logs, bool sharp) {
  std::vector<FitObservation> observations;
  for (const auto& [name, log] : logs) {
    const GroupLayout layout = fabric.layout(first_ranks(fabric, log, name));
    const CollectiveSite site =
        site_of(fabric.cluster(), fabric.graph(), fabric.domains(), layout, sharp, fabric.routes().network());
    require_same_gpus(site, log, name);
    const CurveShape shape = curve_shape(site, log.op, usual_algorithm(site, log.op, models.facts), models.facts);
    const std::string series = anchor_series(site.nodes, site.ranks, log.op);
    for (const NcclTestsRow& row : log.rows) {
      if (row.size >= 1_KiB) {  // smaller ones measure the host alone
        observations.push_back({shape, row.size, row.size * shape.wire_factor / row.time, series, name});
      }
    }
  }
  CollectiveModels result = models;
  if (!observations.empty()) {
    result.curves = anchored(models.curves, observations);
  }
  return result;
}

}  // namespace trainyard::simulator
