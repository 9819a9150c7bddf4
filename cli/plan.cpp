// trainyard plan: the layouts of a model on a machine, ranked by predicted step time; the best as plan.json.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/exit_code.h"
#include "cli/file_arguments.h"
#include "cli/json/output.h"
#include "cli/layout_options.h"
#include "cli/long_answer.h"
#include "cli/machine_option.h"
#include "cli/plan_cluster.h"
#include "cli/plan_options.h"
#include "cli/plan_report.h"
#include "cli/stack_option.h"
#include "cli/text/counted.h"
#include "cli/topology_option.h"
#include "cli/training_options.h"
#include "cli/verbs.h"
#include "core/document/read_file.h"
#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/plan_size.h"
#include "core/plan/shipped.h"
#include "core/units/format_quantity.h"
#include "core/units/parse_quantity.h"
#include "executor/run/cuda_capabilities.h"
#include "simulator/planner/measured_maximum.h"
#include "simulator/planner/planner.h"
#include "simulator/simulate_plan.h"

namespace trainyard::cli {

namespace {

// Of this machine: a profile of its GPUs was measured on them.
Capabilities executor_for(const DeviceProfile& profile) {
  const bool gpus = profile.measured() != nullptr && profile.device == to_string(executor::DeviceKind::kCuda);
  return capabilities_of(gpus ? executor::DeviceKind::kCuda : executor::DeviceKind::kCpu);
}

constexpr double kMostPrice = 1e6;

simulator::PlannerRequest request_from(const PlanOptions& options, const DeviceProfile& profile) {
  simulator::PlannerRequest request;
  request.model = open_model(options.model);
  request.training = training_from(options.training);
  if (request.training.sequence > request.model.positions) {
    throw Error(fmt::format("{} tokens are more than the model's {} positions", request.training.sequence,
                            request.model.positions),
                "--sequence", "a shorter sequence, or a larger max_position_embeddings in " + options.model);
  }
  request.ranks = options.ranks;
  const bool measured = profile.measured() != nullptr;
  request.base = base_layout(options.layout, measured ? "fp32" : "bf16");
  // On a measured machine only what can run there is of use; a cluster is for exploring.
  request.capabilities = measured ? std::optional(executor_for(profile)) : std::nullopt;
  request.wanted = [layout = options.layout](const Layout& candidate) { return wanted(layout, candidate); };
  if (options.layout.micro_batch) {
    request.limits.max_micro_batch =
        std::max<std::int64_t>(request.limits.max_micro_batch, *options.layout.micro_batch);
  }
  return request;
}

simulator::PlannerResult search(LongAnswer& answer, const simulator::PlannerRequest& request,
                                const DeviceProfile& profile) {
  return simulator::plan_layouts(request, profile, [&](const simulator::PlannerProgress& progress) {
    answer.show(
        fmt::format("{} of {} layouts priced, {} simulated", progress.priced, progress.layouts, progress.simulated));
  });
}

void require_pick(const PlanOptions& options, const simulator::PlannerResult& result) {
  if (result.ranked.empty()) {
    const auto reasons = ruled_out_lines(result);
    throw Error(fmt::format("none of the {} layouts considered can work", result.considered), "trainyard plan",
                reasons.empty() ? "no layout of these ranks has what the flags ask for"
                                : fmt::format("{}", fmt::join(reasons, "; ")));
  }
  if (options.pick < 1 || options.pick > result.ranked.size()) {
    throw Error(fmt::format("no number {} among {} layouts that can work", options.pick, result.ranked.size()),
                "--pick", "1 is the best");
  }
}

void write_picked(const PlanOptions& options, const simulator::PlannerRequest& request, const DeviceProfile& profile,
                  const simulator::Estimate& estimate) {
  Plan plan = simulator::make_plan(request, profile, estimate.layout);
  plan.prediction = Prediction{estimate.step_time, estimate.tokens_per_second, estimate.memory_peak};
  apply(options.recovery, plan);
  plan.provenance.version = tool_version();
  plan.provenance.inputs["model"] = content_hash(open_text(options.model, shipped_models(), "--model").text);
  const bool measured = !options.machine.profile.empty();
  const std::string machine = measured ? read_text_file(options.machine.profile)
                                       : open_text(options.machine.cluster, shipped_clusters(), "--cluster").text;
  plan.provenance.inputs[measured ? "profile" : "cluster"] = content_hash(machine);
  validate(plan, options.output);
  write_plan(plan, options.output);
}

// --memory: as much for a rank as it says.
DeviceProfile with_memory(DeviceProfile profile, const PlanOptions& options) {
  if (options.memory.empty()) {
    return profile;
  }
  const ByteCount memory = parse_byte_count(options.memory, "--memory");
  if (AnalyticProfile* analytic = std::get_if<AnalyticProfile>(&profile.data)) {
    analytic->accelerator.memory = {memory, "--memory"};
  } else {
    std::get<MeasuredProfile>(profile.data).memory = options.ranks * memory;
  }
  return profile;
}

int print_largest_batch(const Session& session, const simulator::PlannerRequest& request,
                        const DeviceProfile& profile) {
  std::optional<LongAnswer> answer(std::in_place, session);
  const auto maximum = simulator::largest_batch(request, profile);
  answer.reset();
  if (!maximum) {
    throw Error("not even a batch of one sequence a rank fits", "--maximize batch",
                "more memory, or a shorter sequence");
  }
  const std::string lacks = maximum->next_lacks ? maximum->next_lacks->example.detail : "no layout of these ranks";
  if (session.json) {
    print_json({{"maximize", "batch"},
                {"value", maximum->batch},
                {"best",
                 {{"layout", describe(maximum->best.layout)},
                  {"step_time_s", maximum->best.step_time.si()},
                  {"memory_bytes", maximum->best.memory_peak.value()}}},
                {"next", maximum->next},
                {"next_lacks", lacks}});
  } else {
    fmt::print(
        "largest: {} sequences at once\n  {}: {} a step, {} a rank\none step more, {}, fits under no layout: {}\n",
        session.out.bold(std::to_string(maximum->batch)), describe(maximum->best.layout),
        format_quantity(maximum->best.step_time), format_quantity(maximum->best.memory_peak), maximum->next, lacks);
  }
  return kOk;
}

// Flags that say nothing beside, or without, others.
void check_questions(const PlanOptions& options) {
  if (options.output.empty() && asks_recovery(options.recovery)) {
    throw Error("is for the plan that is written", "checkpoints and failures", "add --output plan.json");
  }
  if (options.sweep.empty() && (options.strong || !options.svg.empty())) {
    throw Error("belongs to a sweep", options.strong ? "--strong" : "--svg", "add --sweep RANKS,..., or leave it out");
  }
  if (!options.by_goodput() && (!options.failures.empty() || !options.policy.empty())) {
    throw Error("belongs to --goal goodput", options.failures.empty() ? "--policy" : "--failures",
                "add --goal goodput, or leave it out");
  }
  if (options.by_goodput()) {
    const char* other = !options.sweep.empty()      ? "--sweep"
                        : !options.maximize.empty() ? "--maximize"
                        : options.sensitivity       ? "--sensitivity"
                        : options.simulated > 0     ? "--simulate"
                                                    : nullptr;
    if (other != nullptr) {
      throw Error("isn't answered beside --goal goodput", other, "ask for one at a time");
    }
  }
  const char* study = !options.sweep.empty() ? "--sweep" : !options.maximize.empty() ? "--maximize" : nullptr;
  if (study == nullptr) {
    if (options.sensitivity && (options.explain || options.simulated > 0)) {
      throw Error("isn't answered beside --sensitivity", options.explain ? "--explain" : "--simulate",
                  "ask for one at a time");
    }
    return;
  }
  const std::array<std::pair<bool, const char*>, 6> others = {{{!options.maximize.empty(), "--maximize"},
                                                               {options.sensitivity, "--sensitivity"},
                                                               {options.explain.has_value(), "--explain"},
                                                               {options.simulated > 0, "--simulate"},
                                                               {options.pick != 1, "--pick"},
                                                               {!options.output.empty(), "--output"}}};
  for (const auto& [given, flag] : others) {
    if (given && std::string_view(flag) != study) {
      throw Error(fmt::format("isn't answered beside {}", study), flag, "ask for one at a time");
    }
  }
}

// The flag that only a cluster of published numbers answers; empty where there is none.
std::string cluster_flag(const PlanOptions& options) {
  const std::array<std::pair<bool, const char*>, 14> flags = {
      {{!options.accelerator.empty(), "--accelerator"},
       {options.offload, "--offload"},
       {options.vary_overlap, "--vary-overlap"},
       {options.exhaustive, "--exhaustive"},
       {options.gpu_hour_price.has_value(), "--gpu-hour-price"},
       {options.simulated > 0, "--simulate"},
       {options.sensitivity, "--sensitivity"},
       {!options.sweep.empty(), "--sweep"},
       {options.strong, "--strong"},
       {!options.svg.empty(), "--svg"},
       {options.by_goodput(), "--goal goodput"},
       {!options.failures.empty(), "--failures"},
       {!options.policy.empty(), "--policy"},
       {options.explain && !options.explain->empty(), "--explain LAYOUT"}}};
  for (const auto& [given, flag] : flags) {
    if (given) {
      return flag;
    }
  }
  for (const std::string& flag : {options.software.first_flag(), options.input.first_flag()}) {
    if (!flag.empty()) {
      return flag;
    }
  }
  const bool other = !options.maximize.empty() && options.maximize != "batch";
  return other ? "--maximize " + options.maximize : std::string();
}

// Degrees that cut the ranks. A sweep has other ranks.
void check_degrees(const PlanOptions& options) {
  const LayoutOptions& layout = options.layout;
  const std::array<std::pair<const char*, std::optional<int>>, 4> degrees = {
      {{"--tp", layout.tensor}, {"--pp", layout.pipeline}, {"--dp", layout.data}, {"--cp", layout.context}}};
  for (const auto& [flag, degree] : degrees) {
    if (degree && *degree < 1) {
      throw Error("must be at least 1", flag, "see trainyard plan --help");
    }
    if (degree && options.sweep.empty() && options.ranks % *degree != 0) {
      throw Error(fmt::format("{} doesn't divide the {} ranks", *degree, options.ranks), flag,
                  "a divisor, or other --ranks");
    }
  }
}

void check_numbers(const PlanOptions& options) {
  if (options.ranks < 1 || options.ranks > kMostRanks) {
    throw Error(fmt::format("must be 1 to {}", kMostRanks), "--ranks", "the number of devices to train on");
  }
  if (options.training.training.global_batch > kMostRows) {
    throw Error(fmt::format("must be at most {}", kMostRows), "--global-batch", "samples of one step, over all ranks");
  }
  if (options.gpu_hour_price && !(*options.gpu_hour_price > 0.0 && *options.gpu_hour_price < kMostPrice)) {
    throw Error(fmt::format("must be above 0 and below {}", kMostPrice), "--gpu-hour-price",
                "what an hour of one GPU costs, in any currency");
  }
}

DeviceProfile open_machine(const PlanOptions& options) {
  if (names_topology(options.machine.cluster)) {
    TopologyOption topology;
    topology.accelerator = options.accelerator;
    return open_topology(options.machine.cluster, topology).profile;
  }
  if (!options.accelerator.empty()) {
    throw Error("is for fabrics and topology files; this machine names its own", "--accelerator", "leave it out");
  }
  return read_machine_option(options.machine);
}

// More ranks at once than were measured are priced as if each had the memory and cores of those.
void note_concurrency(const PlanOptions& options, const MeasuredProfile& measured) {
  const auto most = std::ranges::max(measured.concurrencies, {}, &Concurrency::ranks_at_once).ranks_at_once;
  if (options.ranks > most) {
    fmt::print(stderr,
               "note: {} was measured with at most {} at once; {} are priced as if each had what those had: "
               "`trainyard calibrate --ranks {}` measures them\n",
               options.machine.profile, counted(most, "rank"), options.ranks, options.ranks);
  }
}

// A picked layout is written with its program's step, as the best is, in its place in the table.
void simulate_picked(const PlanOptions& options, const simulator::PlannerRequest& request, const DeviceProfile& profile,
                     simulator::Estimate& picked) {
  if (picked.method == simulator::EstimateMethod::kInstructions) {
    return;
  }
  auto outcome =
      simulator::simulate_plan(make_plan(request, profile, picked.layout), profile, simulator::TraceDetail::kNone);
  if (const Infeasible* infeasible = std::get_if<Infeasible>(&outcome)) {
    throw Error(fmt::format("number {} can't work after all: {}", options.pick, infeasible->detail), "--pick",
                "another number");
  }
  const simulator::StepParts parts = picked.parts;
  picked = std::get<simulator::Simulation>(std::move(outcome)).estimate;
  picked.parts = parts;
}

int plan(const Session& session, const PlanOptions& options) {
  check_numbers(options);
  check_questions(options);
  check_degrees(options);
  std::vector<FileArgument> inputs = {{"--model", options.model},
                                      {"--profile", options.machine.profile},
                                      {"--cluster", options.machine.cluster},
                                      {"--accelerator", options.accelerator},
                                      {"--failures", options.failures}};
  for (FileArgument& input : files_of(options.software)) {
    inputs.push_back(std::move(input));
  }
  require_separate_files(
      {{"--output", options.output}, {"--svg", options.svg}, {"--save-stack", options.software.save}}, inputs);
  const DeviceProfile profile = with_memory(open_machine(options), options);
  if (profile.analytic() != nullptr) {
    return plan_on_cluster(session, options, profile);
  }
  if (const std::string flag = cluster_flag(options); !flag.empty()) {
    throw Error("is answered for clusters of published numbers, not beside --profile", flag,
                "--cluster CLUSTER.json instead; a profile ranks what this machine can run");
  }
  note_concurrency(options, *profile.measured());
  const simulator::PlannerRequest request = request_from(options, profile);
  if (!options.maximize.empty()) {
    return print_largest_batch(session, request, profile);
  }
  std::optional<LongAnswer> answer(std::in_place, session);
  const auto begin = std::chrono::steady_clock::now();
  simulator::PlannerResult result = search(*answer, request, profile);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  require_pick(options, result);
  simulator::Estimate& picked = result.ranked[options.pick - 1];
  simulate_picked(options, request, profile, picked);
  answer->commit([&] {
    if (!options.output.empty()) {
      write_picked(options, request, profile, picked);
    }
  });
  answer.reset();
  const PlanReport report{.request = request,
                          .result = result,
                          .profile = profile,
                          .executor = executor_for(profile),
                          .top = options.top,
                          .picked = options.pick - 1,
                          .output = options.output,
                          .elapsed = from_si<Seconds>(elapsed.count()),
                          .explain = options.explain.has_value()};
  if (session.json) {
    print_json(to_json(report));
  } else {
    print_report(session, report);
  }
  return kOk;
}

}  // namespace

namespace {

void add_cluster_options(CLI::App& verb, PlanOptions& options) {
  const char* group = "On a cluster of published numbers";
  verb.add_option("--accelerator", options.accelerator,
                  "With a fabric: its GPUs, a file or a name of models/accelerators; by the GPUs' name otherwise")
      ->type_name("FILE")
      ->group(group);
  add_stack_option(verb, options.software.stack, group);
  add_anchor_options(verb, options.software, group);
  add_input_options(verb, options.input, group);
  verb.add_flag("--offload", options.offload, "Also layouts with optimizer, activations, parameters in host memory")
      ->group(group);
  verb.add_flag("--vary-overlap", options.vary_overlap, "Also layouts with overlaps switched off")->group(group);
  verb.add_flag("--exhaustive", options.exhaustive, "Price every layout that fits; the result is the same")
      ->group(group);
  verb.add_option("--threads", options.threads, "Threads of the search")->check(CLI::Range(1, 256))->group(group);
  verb.add_option("--gpu-hour-price", options.gpu_hour_price,
                  "Of one GPU for an hour: shows what a billion tokens cost")
      ->group(group);
  verb.add_option("--simulate", options.simulated,
                  "With a fabric: simulate this many of the best instruction by instruction on its graph; the fastest "
                  "of them is the best")
      ->check(CLI::Range(0, 100))
      ->group(group);
  verb.add_flag("--sensitivity", options.sensitivity, "What faster links, memory or peaks would change")->group(group);
  verb.add_option("--sweep", options.sweep, "The best layout at each of these numbers of ranks")
      ->type_name("RANKS,...")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, kMostRanks))
      ->group(group);
  verb.add_flag("--strong", options.strong, "With --sweep: the batch stays (default: it grows with the ranks)")
      ->group(group);
  verb.add_option("--svg", options.svg, "With --sweep: a chart")->type_name("FILE")->group(group);
  verb.add_option(
          "--goal", options.goal,
          "speed, or goodput: useful tokens a day after failures, with interval, spares, timeouts and detectors")
      ->check(CLI::IsMember({"speed", "goodput"}))
      ->group(group);
  verb.add_option("--failures", options.failures,
                  "With --goal goodput: failure profile, a file or a name of models/failures (llama3-h100)")
      ->type_name("FILE")
      ->group(group);
  verb.add_option("--policy", options.policy,
                  "With --goal goodput: how the job goes on, as in `reliability` (restart_from_storage)")
      ->type_name("NAME")
      ->group(group);
}

}  // namespace

void add_plan(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* verb = add_verb(app, session,
                            {"plan", "Rank the layouts of a model on a machine and write the best as a plan",
                             "  trainyard plan --model models/llm/demo-llama.json --profile profile.json --ranks 2 \\\n"
                             "    --sequence 256 --global-batch 16 --steps 60 --output plan.json"});
  verb->add_option("--model", options->model, "Hugging Face config.json, or a name of models/llm such as llama-3-8b")
      ->type_name("FILE")
      ->required();
  add_machine_options(*verb, options->machine);
  verb->add_option("--ranks", options->ranks, "Devices to train on")->required();
  add_training_options(*verb, options->training);
  add_recovery_options(*verb, options->recovery);
  add_layout_options(*verb, options->layout);
  verb->add_option("--output", options->output, "Where to write the plan; without it only the table is printed")
      ->type_name("FILE");
  verb->add_option("--pick", options->pick, "Which of the ranking to write");
  verb->add_option("--top", options->top, "Layouts to show");
  verb->add_option("--explain", options->explain,
                   "Where each step's time goes; with a layout as the table writes it (cluster): why it isn't the best")
      ->type_name("[LAYOUT]")
      ->expected(0, 1)
      ->default_str("");
  verb->add_option("--maximize", options->maximize,
                   "The largest that fits: batch (sequences a step without accumulating); on a cluster also "
                   "parameters or context")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"batch", "parameters", "context"}));
  verb->add_option("--memory", options->memory, "Of a rank, instead of what the machine has, such as \"141 GB\"")
      ->type_name("SIZE");
  add_cluster_options(*verb, *options);
  verb->callback([options, &action] { action = [options](const Session& s) { return plan(s, *options); }; });
}

}  // namespace trainyard::cli
