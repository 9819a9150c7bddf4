// From a plan, a cluster and a failure profile to the JobModel: every published rate times what the job has of the
// thing, every failure's reach by the cluster's graph, every time at the job's scale.
//
//   rate of a class       rate of each x things in the job; per node also x GPUs of a node here / there
//   nodes it takes down   mean over the groups of its fault domain (fault_domains.h)
//   copies that survive   share of those groups (plan_checkpoint.h): of peers' host memory, or of other replicas'
//   devices
//                         where the policy goes on with those
//   communicator init     log-log between the profile's scales, linear in GPUs beyond the largest
//   slowest rank          P(any slow node) x its slowdown + spread x (sqrt(2 ln n) - sqrt(2 ln n0)), n0 GPUs being in
//   the
//                         step time already: the expected maximum of n normals
//   compute errors        incidents of a GPU x GPUs; stored bits: uncorrectable ones x share that ECC misses
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/plan/accelerator.h"
#include "core/plan/recovery_policy.h"
#include "core/plan/training.h"
#include "simulator/failure/failure_profile.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/failure/job_model.h"
#include "simulator/failure/plan_checkpoint.h"

namespace trainyard::simulator {

// Times that were measured take the place of the profile's stages.
struct MeasuredRecovery {
  std::optional<Ranged<Seconds>> detect;
  std::optional<Ranged<Seconds>> restart;  // from noticing to the first step, the load included
  std::optional<Ranged<Seconds>> load;
  std::optional<Ranged<Seconds>> blocking;  // of the snapshot, and what writing in the background costs the steps
  std::optional<Ranged<Seconds>> write;     // blocks as well where saves are synchronous
};

struct JobOverrides {
  std::optional<Seconds> interval;         // of work between saves
  std::optional<Seconds> memory_interval;  // ... in host memory
  std::optional<std::int64_t> spares;
  std::optional<Seconds> hang_timeout;
  std::optional<Seconds> archive_interval;
  std::optional<Seconds> mean_time_between_failures;  // one class of this mean instead of the profile's
  MeasuredRecovery measured;
};

struct JobInput {
  const ModelSpec& model;
  const Layout& layout;
  const Training& training;
  const FaultDomains& domains;
  FrontEnd front_end;
  const Accelerator* accelerator = nullptr;  // none: a machine of CPUs
  BytesPerSecond network;                    // of a rank, to other nodes; 0: one node
  Bytes activations;                         // of a rank, at their most: what corruption can hit besides the state
  Seconds step_time;
  RecoveryPolicy policy;
  CheckpointPolicy checkpoint;
  JobOverrides overrides;
};

// What one failure that takes down a domain does, before it is priced.
struct DomainEffect {
  FaultDomain domain = FaultDomain::kNode;
  std::int64_t groups = 0;
  double nodes = 0.0;         // mean
  PerSecond rate;             // of the job, all classes
  double devices_left = 0.0;  // share after which the state is whole on other devices
  double peers_left = 0.0;    // ... in other nodes' host memory
  std::vector<std::string> classes;
};

struct ResolvedJob {
  JobModel job;
  CheckpointSize size;
  CheckpointTimes times;
  int copies_on_devices = 1;
  std::vector<DomainEffect> effects;  // of the domains that the profile's classes take down
  std::vector<std::string> notes;     // assumptions of this job, for people
};

// The storage interval is overrides.interval, else the plan's every_steps, else Young's: the caller searches a better
// one. Throws Error for a policy that the layout can't follow.
ResolvedJob resolve_job(const FailureProfile& profile, const JobInput& input);

// Time to join so many ranks.
Ranged<Seconds> communicator_init(const PublishedRecovery& recovery, std::int64_t ranks);

}  // namespace trainyard::simulator
