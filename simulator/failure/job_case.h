// JobCase: a plan on a machine under a failure profile, with all that resolve_job() needs of them, so that one job can
// be resolved under other policies and at other scales.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/cluster/cluster.h"
#include "core/plan/accelerator.h"
#include "core/plan/plan.h"
#include "simulator/failure/failure_profile.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/failure/profile_resolution.h"

namespace trainyard::simulator {

struct JobCase {
  Plan plan;
  Fabric fabric;
  std::optional<Accelerator> accelerator;  // none: a machine of CPUs
  std::shared_ptr<const Cluster> cluster;  // its graph; null where only nodes and NICs are known
  FailureProfile profile;
  Seconds step_time;
  JobOverrides overrides;

  // Of the plan's ranks: from the graph, or of nodes of the fabric's size.
  FaultDomains domains() const;
  // Throws Error for a policy that the layout can't follow.
  ResolvedJob resolve(RecoveryKind kind) const;
  // The same layout with more or fewer data-parallel replicas, the batch in proportion; nothing where the ranks can't
  // be had that way.
  std::optional<ResolvedJob> resolve_at(std::int64_t ranks) const;

 private:
  JobInput input(const Layout& layout, const Training& training, const FaultDomains& at) const;
};

}  // namespace trainyard::simulator
