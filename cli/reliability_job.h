// The job that `reliability` is about: a plan, or a model laid out on a cluster, with what it runs on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/long_answer.h"
#include "cli/reliability_options.h"
#include "core/plan/plan.h"
#include "simulator/failure/failure_profile.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/failure/job_case.h"
#include "simulator/failure/profile_resolution.h"

namespace trainyard::cli {

// The case that flags describe.
class ReliabilityJob {
 public:
  // Throws Error for files and names that aren't there, and for a layout that can't be.
  ReliabilityJob(LongAnswer& answer, const ReliabilityOptions& options);

  const simulator::JobCase& job_case() const { return case_; }
  const Plan& plan() const { return case_.plan; }
  const simulator::FailureProfile& profile() const { return case_.profile; }
  const simulator::FaultDomains& domains() const { return *domains_; }
  const std::string& machine() const { return machine_; }
  const std::vector<std::string>& notes() const { return notes_; }
  Seconds step_time() const { return case_.step_time; }
  bool on_cpus() const { return !case_.accelerator; }

 private:
  void open_plan(const ReliabilityOptions& options);
  void open_machine(const ReliabilityOptions& options);
  void lay_out(LongAnswer& answer, const ReliabilityOptions& options);
  void take_step_time(const ReliabilityOptions& options);
  void take_profile(const ReliabilityOptions& options);
  void take_record(const ReliabilityOptions& options);
  void take_overrides(const ReliabilityOptions& options);

  simulator::JobCase case_;
  std::string machine_;
  std::unique_ptr<simulator::FaultDomains> domains_;
  std::vector<std::string> notes_;
};

}  // namespace trainyard::cli
