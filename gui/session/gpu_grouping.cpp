#include "gui/session/gpu_grouping.h"

#include <algorithm>

#include "core/layout/mesh.h"
#include "simulator/failure/fault_domains.h"

namespace trainyard::gui {

namespace {

void number_groups(const Mesh& mesh, Axis axis, std::vector<std::int32_t>& groups) {
  std::int32_t number = 0;
  for (const std::vector<Rank>& members : mesh.groups(axis)) {
    for (const Rank rank : members) {
      groups[rank.at()] = number;
    }
    ++number;
  }
}

void number_domains(const simulator::FaultDomains& domains, simulator::FaultDomain kind,
                    std::vector<std::int32_t>& groups) {
  std::vector<std::int32_t> of_node(static_cast<std::size_t>(domains.nodes()), -1);
  for (std::int64_t g = 0; g < domains.groups(kind); ++g) {
    for (const std::int32_t node : domains.group(kind, g)) {
      // A host on every rail's leaf is in several; the first is shown.
      if (of_node[static_cast<std::size_t>(node)] < 0) {
        of_node[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(g);
      }
    }
  }
  for (std::int64_t rank = 0; rank < domains.ranks(); ++rank) {
    groups[static_cast<std::size_t>(rank)] = of_node[static_cast<std::size_t>(domains.node_of(rank))];
  }
}

std::optional<Axis> axis_of(GpuGrouping grouping) {
  switch (grouping) {
    case GpuGrouping::kTensor:
      return Axis::kTensor;
    case GpuGrouping::kData:
      return Axis::kData;
    case GpuGrouping::kContext:
      return Axis::kContext;
    case GpuGrouping::kExpert:
      return Axis::kExpert;
    default:
      return std::nullopt;
  }
}

simulator::FaultDomain domain_of(GpuGrouping grouping) {
  switch (grouping) {
    case GpuGrouping::kRack:
      return simulator::FaultDomain::kRack;
    case GpuGrouping::kLeaf:
      return simulator::FaultDomain::kLeaf;
    case GpuGrouping::kPowerDomain:
      return simulator::FaultDomain::kPowerDomain;
    default:
      return simulator::FaultDomain::kNode;
  }
}

}  // namespace

std::string grouping_name(GpuGrouping grouping) {
  switch (grouping) {
    case GpuGrouping::kLoad:
      return "load of links";
    case GpuGrouping::kStage:
      return "pipeline stage (pp)";
    case GpuGrouping::kTensor:
      return "tensor-parallel group (tp)";
    case GpuGrouping::kData:
      return "data-parallel group (dp)";
    case GpuGrouping::kContext:
      return "context-parallel group (cp)";
    case GpuGrouping::kExpert:
      return "expert-parallel group (ep)";
    case GpuGrouping::kNode:
      return "node";
    case GpuGrouping::kRack:
      return "rack";
    case GpuGrouping::kLeaf:
      return "leaf switch";
    case GpuGrouping::kPowerDomain:
      return "power domain";
  }
  return {};
}

std::string grouping_meaning(GpuGrouping grouping) {
  switch (grouping) {
    case GpuGrouping::kLoad:
      return "how busy the fullest link of each GPU is, its NIC's included";
    case GpuGrouping::kStage:
      return "GPUs that hold the same layers";
    case GpuGrouping::kTensor:
      return "GPUs that each layer is cut over";
    case GpuGrouping::kData:
      return "GPUs that hold the same parameters and see other samples";
    case GpuGrouping::kContext:
      return "GPUs that each sequence is cut over";
    case GpuGrouping::kExpert:
      return "GPUs that experts are dealt out over";
    case GpuGrouping::kNode:
      return "GPUs of a host: they leave the job together";
    case GpuGrouping::kRack:
      return "hosts of a rack or an NVLink domain, which fail together";
    case GpuGrouping::kLeaf:
      return "hosts whose only way out is one leaf switch";
    case GpuGrouping::kPowerDomain:
      return "hosts on one power feed, as many as the failure profile says";
  }
  return {};
}

std::vector<std::int32_t> group_of_gpus(const Cluster& cluster, const std::optional<Layout>& layout,
                                        const std::optional<simulator::FailureProfile>& failures,
                                        GpuGrouping grouping) {
  if (grouping == GpuGrouping::kLoad) {
    return {};
  }
  const std::size_t gpus = cluster.gpus().size();
  std::vector<std::int32_t> groups(gpus, -1);
  if (grouping >= GpuGrouping::kNode) {
    if (failures) {
      number_domains(simulator::FaultDomains(cluster, static_cast<std::int64_t>(gpus), *failures), domain_of(grouping),
                     groups);
    }
    return groups;
  }
  if (!layout || layout->ranks() > static_cast<std::int64_t>(gpus)) {
    return groups;
  }
  const Mesh mesh(*layout);
  if (const auto axis = axis_of(grouping)) {
    number_groups(mesh, *axis, groups);
    return groups;
  }
  for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    groups[static_cast<std::size_t>(rank)] = mesh.coordinates(Rank(rank)).pipeline;
  }
  return groups;
}

}  // namespace trainyard::gui
