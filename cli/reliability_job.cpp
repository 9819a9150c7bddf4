#include "cli/reliability_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cluster_search.h"
#include "cli/layout_text.h"
#include "cli/measured_recovery.h"
#include "cli/plan_cluster_report.h"
#include "cli/topology_option.h"
#include "core/error.h"
#include "core/import/open_cluster.h"
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
  plan.stack = options.stack;
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
  if (overrides_.hang_timeout && *overrides_.hang_timeout <= step_time_) {
    throw Error("a healthy step takes longer: " + format_quantity(step_time_), "--hang-timeout",
                "several steps, so that only hung ranks are stopped");
  }
  const std::int64_t ranks = plan_.layout.ranks();
  domains_ = cluster_ ? std::make_unique<simulator::FaultDomains>(*cluster_, ranks, profile_)
                      : std::make_unique<simulator::FaultDomains>(ranks, fabric_.ranks_per_node.value, profile_);
  if (!cluster_ && accelerator_) {
    notes_.push_back("without the cluster's graph, a leaf switch takes down a rack of " +
                     std::to_string(profile_.nodes_per_rack) + " nodes; a fabric or topology file says more");
  }
}

void ReliabilityJob::open_plan(const ReliabilityOptions& options) {
  plan_ = read_plan(options.plan);
  if (plan_.layout.ranks() > kMostRanks) {
    throw Error(fmt::format("has {} ranks of {}", plan_.layout.ranks(), kMostRanks), options.plan, "fewer ranks");
  }
}

void ReliabilityJob::open_machine(const ReliabilityOptions& options) {
  const std::string word = options.cluster.empty() ? plan_.cluster.name : options.cluster;
  machine_ = word;
  if (names_topology(word)) {
    TopologyOption topology;
    topology.accelerator = options.accelerator;
    Topology opened = open_topology(word, topology);
    cluster_ = std::move(opened.cluster);
    accelerator_ = std::move(opened.machine.accelerator);
    fabric_ = std::move(opened.machine.fabric);
    return;
  }
  if (!options.cluster.empty() || is_shipped_cluster(word)) {
    fabric_ = open_fabric(word);
    accelerator_ = open_accelerator(fabric_.accelerator, options.cluster);
    return;
  }
  if (plan_.cluster.device != "cpu") {
    throw Error("the plan is for \"" + word + "\", which is neither a fabric nor in models/clusters", options.plan,
                "say where it runs: --cluster CLUSTER");
  }
  machine_ = "this machine's CPUs";
  fabric_.ranks.value = plan_.layout.ranks();
  fabric_.ranks_per_node.value = std::max<std::int64_t>(1, plan_.cluster.ranks_per_node);
}

void ReliabilityJob::lay_out(LongAnswer& answer, const ReliabilityOptions& options) {
  const PlanOptions search = search_options(options);
  const DeviceProfile profile = analytic_profile(*accelerator_, fabric_);
  const simulator::SearchRequest request = cluster_request(search, profile);
  const simulator::MachinePricers machines = simulator::curve_pricers(request.machine);
  const simulator::PricerFactory pricers = machines(request.space.workload, request.machine);
  plan_.model = request.space.workload.model;
  plan_.training = search.training.training;
  if (!options.layout_words.empty()) {
    plan_.layout =
        parse_layout(options.layout_words, "--layout", request.space.base, options.ranks, options.global_batch);
    validate(plan_, "--layout");
    step_time_ = pricers()->price(plan_.layout).step_time;
    return;
  }
  const simulator::SearchResult found = search_cluster(answer, request, pricers);
  if (found.best.empty()) {
    throw Error(fmt::format("none of the {} layouts considered can work", found.considered), "trainyard reliability",
                found.nearest_miss ? "nearest: " + layout_text(found.nearest_layout) + ": " + found.nearest_miss->detail
                                   : "no layout of these ranks");
  }
  plan_.layout = found.best.front().layout;
  step_time_ = found.best.front().step.step_time;
}

void ReliabilityJob::take_step_time(const ReliabilityOptions& options) {
  if (const auto given = time_of(options.step_time, "--step-time")) {
    step_time_ = *given;
  }
  if (!(step_time_ > Seconds()) && plan_.prediction) {
    step_time_ = plan_.prediction->step_time;
  }
  if (!(step_time_ > Seconds()) && accelerator_) {
    const simulator::Machine machine{*accelerator_, fabric_, simulator::find_stack(*accelerator_, options.stack)};
    const simulator::Workload workload{plan_.model, plan_.training.sequence, plan_.training.global_batch};
    step_time_ = simulator::curve_pricers(machine)(workload, machine)()->price(plan_.layout).step_time;
  }
  if (!(step_time_ > Seconds())) {
    throw Error("the plan has no predicted step time", options.plan,
                "give --step-time, or --record of a run of it, or plan it with --profile");
  }
}

void ReliabilityJob::take_profile(const ReliabilityOptions& options) {
  const bool kills = !options.mean_time_between_failures.empty();
  if (!accelerator_ && options.failures.empty() && !kills) {
    throw Error("no failures are published of this machine", "--failures",
                "say how often a process dies (--mean-time-between-failures \"1 h\"), or name a profile");
  }
  const std::string word = !options.failures.empty() ? options.failures : kills ? "none" : kUsualProfile;
  profile_ = simulator::open_failure_profile(word);
}

void ReliabilityJob::take_overrides(const ReliabilityOptions& options) {
  overrides_.interval = time_of(options.interval, "--interval");
  overrides_.hang_timeout = time_of(options.hang_timeout, "--hang-timeout");
  overrides_.mean_time_between_failures = time_of(options.mean_time_between_failures, "--mean-time-between-failures");
  overrides_.spares = options.spares;
  if (accelerator_) {
    overrides_.archive_interval = time_of(options.archive, "--archive").value_or(from_si<Seconds>(kArchiveInterval));
  }
  if (!options.plan.empty() && plan_.recovery.hang_timeout != RecoveryPolicy().hang_timeout &&
      !overrides_.hang_timeout) {
    overrides_.hang_timeout = plan_.recovery.hang_timeout;
  }
  if (options.detectors) {
    plan_.recovery.detectors = parse_detectors(*options.detectors, "--detectors");
  }
  if (!options.policy.empty()) {
    plan_.recovery.kind = parse_recovery_kind(options.policy, "--policy");
  }
}

void ReliabilityJob::take_record(const ReliabilityOptions& options) {
  if (options.record.empty()) {
    return;
  }
  const MeasuredRun run = measured_run(options.record);
  overrides_.measured = run.recovery;
  notes_.insert(notes_.end(), run.notes.begin(), run.notes.end());
  if (options.step_time.empty()) {
    step_time_ = run.step_time;
  }
}

simulator::JobInput ReliabilityJob::input(const Layout& layout, const Training& training,
                                          const simulator::FaultDomains& domains) const {
  simulator::JobInput input{.model = plan_.model,
                            .layout = layout,
                            .training = training,
                            .domains = domains,
                            .front_end = cluster_ ? simulator::front_end(*cluster_) : simulator::FrontEnd(),
                            .accelerator = accelerator_ ? &*accelerator_ : nullptr,
                            .network = fabric_.nic_bandwidth.value,
                            .activations = {},
                            .step_time = step_time_,
                            .policy = plan_.recovery,
                            .checkpoint = plan_.checkpoint,
                            .overrides = overrides_};
  if (accelerator_) {
    const simulator::Machine machine{*accelerator_, fabric_, simulator::usual_stack(*accelerator_)};
    const simulator::Workload workload{plan_.model, training.sequence, training.global_batch};
    const simulator::MemoryPrice memory = simulator::MemoryModel(workload, machine).price(layout);
    input.activations = memory.of(simulator::MemoryUse::kActivations).quantity();
  }
  return input;
}

simulator::ResolvedJob ReliabilityJob::resolve(RecoveryKind kind) const {
  simulator::JobInput job = input(plan_.layout, plan_.training, *domains_);
  job.policy.kind = kind;
  return simulator::resolve_job(profile_, job);
}

std::optional<simulator::ResolvedJob> ReliabilityJob::resolve_at(std::int64_t ranks) const {
  Layout layout = plan_.layout;
  const std::int64_t others = layout.ranks() / layout.data;
  if (ranks % others != 0) {
    return std::nullopt;
  }
  Training training = plan_.training;
  training.global_batch = training.global_batch / layout.data * (ranks / others);
  layout.data = static_cast<int>(ranks / others);
  if (layout.shard_group && layout.data * layout.context % *layout.shard_group != 0) {
    return std::nullopt;
  }
  const bool in_graph = cluster_ && ranks <= static_cast<std::int64_t>(cluster_->gpus().size());
  const auto nodes = static_cast<std::int64_t>(std::max(1.0, domains_->gpus_per_node()));
  const simulator::FaultDomains domains =
      in_graph ? simulator::FaultDomains(*cluster_, ranks, profile_) : simulator::FaultDomains(ranks, nodes, profile_);
  try {
    return simulator::resolve_job(profile_, input(layout, training, domains));
  } catch (const Error&) {  // experts that these replicas don't divide, a policy that needs two
    return std::nullopt;
  }
}

}  // namespace trainyard::cli
