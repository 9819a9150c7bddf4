// GpuGrouping: which GPUs belong together: in the plan's groups, or in what fails together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/layout/layout.h"
#include "simulator/failure/failure_profile.h"

namespace trainyard::gui {

enum class GpuGrouping : std::uint8_t {
  kLoad,  // none: by the load of their links
  kStage,
  kTensor,
  kData,
  kContext,
  kExpert,
  kNode,
  kRack,
  kLeaf,
  kPowerDomain,
};
constexpr int kGpuGroupings = 10;
std::string grouping_name(GpuGrouping grouping);     // "tensor-parallel group"
std::string grouping_meaning(GpuGrouping grouping);  // a sentence, for newcomers

// A number for each GPU of the cluster, -1 for those outside the plan or in no domain. Groups of the plan: without a
// layout all -1. Fault domains: without a failure profile all -1. kLoad: empty.
std::vector<std::int32_t> group_of_gpus(const Cluster& cluster, const std::optional<Layout>& layout,
                                        const std::optional<simulator::FailureProfile>& failures, GpuGrouping grouping);

}  // namespace trainyard::gui
