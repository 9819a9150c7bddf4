// The job that `reliability` is about: a plan, or a model laid out on a cluster, with what it runs on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/long_answer.h"
#include "cli/reliability_options.h"
#include "core/cluster/cluster.h"
#include "core/plan/plan.h"
#include "simulator/failure/failure_profile.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/failure/profile_resolution.h"

namespace trainyard::cli {

// What resolve_job() needs, held together: the input refers to its neighbours.
class ReliabilityJob {
 public:
  // Throws Error for files and names that aren't there, and for a layout that can't be.
  ReliabilityJob(LongAnswer& answer, const ReliabilityOptions& options);

  simulator::ResolvedJob resolve(RecoveryKind kind) const;
  // The same layout with more or fewer data-parallel replicas, the batch in proportion; nothing where the ranks can't
  // be had that way.
  std::optional<simulator::ResolvedJob> resolve_at(std::int64_t ranks) const;

  const Plan& plan() const { return plan_; }
  const simulator::FailureProfile& profile() const { return profile_; }
  const simulator::FaultDomains& domains() const { return *domains_; }
  const std::string& machine() const { return machine_; }
  const std::vector<std::string>& notes() const { return notes_; }
  Seconds step_time() const { return step_time_; }
  bool on_cpus() const { return !accelerator_; }

 private:
  void open_plan(const ReliabilityOptions& options);
  void open_machine(const ReliabilityOptions& options);
  void lay_out(LongAnswer& answer, const ReliabilityOptions& options);
  void take_step_time(const ReliabilityOptions& options);
  void take_profile(const ReliabilityOptions& options);
  void take_record(const ReliabilityOptions& options);
  void take_overrides(const ReliabilityOptions& options);
  simulator::JobInput input(const Layout& layout, const Training& training,
                            const simulator::FaultDomains& domains) const;

  Plan plan_;
  std::string machine_;
  std::optional<Cluster> cluster_;
  std::optional<Accelerator> accelerator_;
  Fabric fabric_;
  simulator::FailureProfile profile_;
  std::unique_ptr<simulator::FaultDomains> domains_;
  Seconds step_time_;
  simulator::JobOverrides overrides_;
  std::vector<std::string> notes_;
};

}  // namespace trainyard::cli
