#include "simulator/failure/job_case.h"

#include <algorithm>

#include "core/error.h"
#include "simulator/cluster_machine.h"
#include "simulator/memory/memory_model.h"

namespace trainyard::simulator {

FaultDomains JobCase::domains() const {
  const std::int64_t ranks = plan.layout.ranks();
  return cluster ? FaultDomains(*cluster, ranks, profile) : FaultDomains(ranks, fabric.ranks_per_node.value, profile);
}

JobInput JobCase::input(const Layout& layout, const Training& training, const FaultDomains& at) const {
  JobInput input{.model = plan.model,
                 .layout = layout,
                 .training = training,
                 .domains = at,
                 .front_end = cluster ? front_end(*cluster) : FrontEnd(),
                 .accelerator = accelerator ? &*accelerator : nullptr,
                 .network = fabric.nic_bandwidth.value,
                 .activations = {},
                 .step_time = step_time,
                 .policy = plan.recovery,
                 .checkpoint = plan.checkpoint,
                 .overrides = overrides};
  if (accelerator) {
    const Machine machine{*accelerator, fabric, usual_stack(*accelerator)};
    const Workload workload{plan.model, training.sequence, training.global_batch};
    input.activations = MemoryModel(workload, machine).price(layout).of(MemoryUse::kActivations).quantity();
  }
  return input;
}

ResolvedJob JobCase::resolve(RecoveryKind kind) const {
  const FaultDomains own = domains();
  JobInput job = input(plan.layout, plan.training, own);
  job.policy.kind = kind;
  return resolve_job(profile, job);
}

std::optional<ResolvedJob> JobCase::resolve_at(std::int64_t ranks) const {
  Layout layout = plan.layout;
  const std::int64_t others = layout.ranks() / layout.data;
  if (ranks % others != 0) {
    return std::nullopt;
  }
  Training training = plan.training;
  training.global_batch = training.global_batch / layout.data * (ranks / others);
  layout.data = static_cast<int>(ranks / others);
  if (layout.shard_group && layout.data * layout.context % *layout.shard_group != 0) {
    return std::nullopt;
  }
  const bool in_graph = cluster && ranks <= static_cast<std::int64_t>(cluster->gpus().size());
  const auto nodes = static_cast<std::int64_t>(std::max(1.0, domains().gpus_per_node()));
  const FaultDomains there = in_graph ? FaultDomains(*cluster, ranks, profile) : FaultDomains(ranks, nodes, profile);
  try {
    return resolve_job(profile, input(layout, training, there));
  } catch (const Error&) {  // experts that these replicas don't divide, a policy that needs two
    return std::nullopt;
  }
}

}  // namespace trainyard::simulator
