#include "cli/reliability_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cluster_search.h"
#include "cli/measured_recovery.h"
#include "cli/plan_cluster_report.h"
#include "cli/stack_option.h"
#include "cli/topology_option.h"
#include "core/error.h"
#include "core/import/open_cluster.h"
#include "core/layout/layout_text.h"
#include "core/plan/plan_size.h"
#include "core/plan/shipped.h"
#include "core/units/format_quantity.h"
#include "simulator/cluster_machine.h"
#include "simulator/memory/memory_model.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::cli {

namespace {

constexpr const char* kUsualProfile = "llama3-h100";
constexpr double kArchiveInterval = 7200.0;  // of work between saves that outlive the newest few

bool is_shipped_cluster(const std::string& name) {
  return std::ranges::any_of(shipped_clusters(), [&](const ShippedFile& file) { return file.name == name; });
}

PlanOptions search_options(const ReliabilityOptions& options) {
  PlanOptions plan;
  plan.model = options.model;
  plan.machine.cluster = options.cluster;
  plan.ranks = options.ranks;
  plan.training.training.sequence = options.sequence;
  plan.training.training.global_batch = options.global_batch;
  plan.training.training.steps = 1;
  plan.layout = options.layout;
  plan.software.stack = options.stack;
  plan.threads = options.threads;
  return plan;
}

}  // namespace

ReliabilityJob::ReliabilityJob(LongAnswer& answer, const ReliabilityOptions& options) {
  answer.show("reading");
  if (!options.plan.empty()) {
    open_plan(options);
  }
  open_machine(options);
  if (options.plan.empty()) {
    lay_out(answer, options);
  }
  take_profile(options);
  take_overrides(options);
  take_record(options);
  take_step_time(options);
  if (case_.overrides.hang_timeout && *case_.overrides.hang_timeout <= case_.step_time) {
    throw Error("a healthy step takes longer: " + format_quantity(case_.step_time), "--hang-timeout",
                "several steps, so that only hung ranks are stopped");
  }
  domains_ = std::make_unique<simulator::FaultDomains>(case_.domains());
  if (!case_.cluster && case_.accelerator) {
    notes_.push_back("without the cluster's graph, a leaf switch takes down a rack of " +
                     std::to_string(case_.profile.nodes_per_rack) + " nodes; a fabric or topology file says more");
  }
}

void ReliabilityJob::open_plan(const ReliabilityOptions& options) {
  case_.plan = read_plan(options.plan);
  if (case_.plan.layout.ranks() > kMostRanks) {
    throw Error(fmt::format("has {} ranks of {}", case_.plan.layout.ranks(), kMostRanks), options.plan, "fewer ranks");
  }
}

void ReliabilityJob::open_machine(const ReliabilityOptions& options) {
  const std::string word = options.cluster.empty() ? case_.plan.cluster.name : options.cluster;
  machine_ = word;
  if (names_topology(word)) {
    TopologyOption topology;
    topology.accelerator = options.accelerator;
    Topology opened = open_topology(word, topology);
    case_.cluster = std::make_shared<const Cluster>(std::move(opened.cluster));
    case_.accelerator = std::move(opened.machine.accelerator);
    case_.fabric = std::move(opened.machine.fabric);
    return;
  }
  if (!options.cluster.empty() || is_shipped_cluster(word)) {
    case_.fabric = open_fabric(word);
    case_.accelerator = open_accelerator(case_.fabric.accelerator, options.cluster);
    return;
  }
  if (case_.plan.cluster.device != "cpu") {
    throw Error("the plan is for \"" + word + "\", which is neither a fabric nor in models/clusters", options.plan,
                "say where it runs: --cluster CLUSTER");
  }
  machine_ = "this machine's CPUs";
  case_.fabric.ranks.value = case_.plan.layout.ranks();
  case_.fabric.ranks_per_node.value = std::max<std::int64_t>(1, case_.plan.cluster.ranks_per_node);
}

void ReliabilityJob::lay_out(LongAnswer& answer, const ReliabilityOptions& options) {
  const PlanOptions search = search_options(options);
  const simulator::SearchRequest request =
      cluster_request(search, {*case_.accelerator, case_.fabric, open_stack(*case_.accelerator, options.stack)});
  const simulator::MachinePricers machines = simulator::curve_pricers(request.machine);
  const simulator::PricerFactory pricers = machines(request.space.workload, request.machine);
  case_.plan.model = request.space.workload.model;
  case_.plan.training = search.training.training;
  if (!options.layout_words.empty()) {
    case_.plan.layout =
        parse_layout(options.layout_words, "--layout", request.space.base, options.ranks, options.global_batch);
    validate(case_.plan, "--layout");
    case_.step_time = pricers()->price(case_.plan.layout).step_time;
    return;
  }
  const simulator::SearchResult found = search_cluster(answer, request, pricers);
  if (found.best.empty()) {
    throw Error(fmt::format("none of the {} layouts considered can work", found.considered), "trainyard reliability",
                found.nearest_miss ? "nearest: " + layout_text(found.nearest_layout) + ": " + found.nearest_miss->detail
                                   : "no layout of these ranks");
  }
  case_.plan.layout = found.best.front().layout;
  case_.step_time = found.best.front().step.step_time;
}

void ReliabilityJob::take_step_time(const ReliabilityOptions& options) {
  if (const auto given = time_of(options.step_time, "--step-time")) {
    case_.step_time = *given;
  }
  if (!(case_.step_time > Seconds()) && case_.plan.prediction) {
    case_.step_time = case_.plan.prediction->step_time;
  }
  if (!(case_.step_time > Seconds()) && case_.accelerator) {
    const simulator::Machine machine{*case_.accelerator, case_.fabric, open_stack(*case_.accelerator, options.stack)};
    const simulator::Workload workload{case_.plan.model, case_.plan.training.sequence,
                                       case_.plan.training.global_batch};
    case_.step_time = simulator::curve_pricers(machine)(workload, machine)()->price(case_.plan.layout).step_time;
  }
  if (!(case_.step_time > Seconds())) {
    throw Error("the plan has no predicted step time", options.plan,
                "give --step-time, or --record of a run of it, or plan it with --profile");
  }
}

void ReliabilityJob::take_profile(const ReliabilityOptions& options) {
  const bool kills = !options.mean_time_between_failures.empty();
  if (!case_.accelerator && options.failures.empty() && !kills) {
    throw Error("no failures are published of this machine", "--failures",
                "say how often a process dies (--mean-time-between-failures \"1 h\"), or name a profile");
  }
  const std::string word = !options.failures.empty() ? options.failures : kills ? "none" : kUsualProfile;
  case_.profile = simulator::open_failure_profile(word);
}

void ReliabilityJob::take_overrides(const ReliabilityOptions& options) {
  case_.overrides.interval = time_of(options.interval, "--interval");
  case_.overrides.hang_timeout = time_of(options.hang_timeout, "--hang-timeout");
  case_.overrides.mean_time_between_failures =
      time_of(options.mean_time_between_failures, "--mean-time-between-failures");
  case_.overrides.spares = options.spares;
  if (case_.accelerator) {
    case_.overrides.archive_interval =
        time_of(options.archive, "--archive").value_or(from_si<Seconds>(kArchiveInterval));
  }
  if (!options.plan.empty() && case_.plan.recovery.hang_timeout != RecoveryPolicy().hang_timeout &&
      !case_.overrides.hang_timeout) {
    case_.overrides.hang_timeout = case_.plan.recovery.hang_timeout;
  }
  if (options.detectors) {
    case_.plan.recovery.detectors = parse_detectors(*options.detectors, "--detectors");
  }
  if (!options.policy.empty()) {
    case_.plan.recovery.kind = parse_recovery_kind(options.policy, "--policy");
  }
}

void ReliabilityJob::take_record(const ReliabilityOptions& options) {
  if (options.record.empty()) {
    return;
  }
  const MeasuredRun run = measured_run(options.record);
  case_.overrides.measured = run.recovery;
  notes_.insert(notes_.end(), run.notes.begin(), run.notes.end());
  if (options.step_time.empty()) {
    case_.step_time = run.step_time;
  }
}

}  // namespace trainyard::cli
