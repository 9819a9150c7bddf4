// trainyard run: executes a plan on this machine, a process a rank.
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/exit_code.h"
#include "cli/file_arguments.h"
#include "cli/json/output.h"
#include "cli/run_progress.h"
#include "cli/text/counted.h"
#include "cli/verbs.h"
#include "core/error.h"
#include "core/layout/layout.h"
#include "core/plan/device_profile.h"
#include "core/plan/plan.h"
#include "core/plan/run_record.h"
#include "core/plan/steps_beside_saves.h"
#include "core/units/format_quantity.h"
#include "executor/run/launch_run.h"
#include "executor/run/run_files.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;

constexpr const char* kUsualStart = "srun --nodes=1 --ntasks=1 --overlap --kill-on-bad-exit=0 --nodelist={host}";

struct Options {
  std::string plan;
  std::string data;
  std::string output;
  std::string initial_weights;
  std::string profile;
  std::optional<std::int64_t> steps;
  std::string device = "auto";
  int ranks_per_gpu = 1;
  std::vector<std::string> hosts;
  std::string start_on;
  std::string address;
  std::optional<int> threads;
  std::optional<std::int64_t> evaluate_every;
  std::vector<std::string> faults;
  std::uint64_t fault_seed = 0;
  std::optional<std::string> resume;  // empty: the folder of --output
  bool no_model = false;
  bool graphs = false;
  bool force = false;

  // Of the run.
  std::string folder() const { return output.empty() ? resume.value_or("") : output; }
};

// This host's devices stand for those of all.
executor::RankHosts hosts_of(const Options& options) {
  executor::RankHosts hosts;
  if (options.hosts.empty()) {
    return hosts;
  }
  hosts.names = options.hosts;
  std::istringstream words(options.start_on.empty() ? std::string(kUsualStart) : options.start_on);
  for (std::string word; words >> word;) {
    hosts.start_on.push_back(word);
  }
  hosts.address = options.address.empty() ? executor::address_towards(hosts.names.back()) : options.address;
  return hosts;
}

executor::RunOptions run_options(const Options& options, const Plan& plan) {
  executor::RunOptions run;
  run.folder = options.folder();
  run.data = options.data;
  if (!options.initial_weights.empty()) {
    run.initial_weights = options.initial_weights;
  }
  run.steps = options.steps;
  run.hosts = hosts_of(options);
  const executor::UsableGpus gpus = executor::usable_gpus();
  run.device = executor::choose_device(executor::parse_device(options.device), plan.layout.ranks() / run.hosts.count(),
                                       options.ranks_per_gpu, gpus);
  executor::require_products(plan.layout.compute_type, run.device, gpus);
  run.threads_per_rank = options.threads.value_or(executor::threads_per_rank(plan.layout.ranks()));
  run.evaluate_every = options.evaluate_every;
  run.save_model = !options.no_model;
  run.graphs = options.graphs;
  run.replace = options.force;
  run.resume = options.resume.has_value();
  run.or_begin = run.resume && options.resume->empty();
  for (const std::string& fault : options.faults) {
    add_fault(run.faults, fault);
  }
  run.faults.seed = options.fault_seed;
  if (!options.profile.empty()) {
    run.peak_rate = peak_rate(read_device_profile(options.profile), plan.layout.compute_type, plan.layout.ranks());
  }
  return run;
}

void check_options(const Options& options) {
  if (options.steps && *options.steps < 1) {
    throw Error("must be at least 1", "--steps", "how many of the plan's steps to run");
  }
  if (options.threads && (*options.threads < 1 || *options.threads > executor::kMostThreads)) {
    throw Error(fmt::format("must be 1 to {}", executor::kMostThreads), "--threads", "threads of each rank");
  }
  if (options.evaluate_every && *options.evaluate_every < 1) {
    throw Error("must be at least 1", "--evaluate-every", "leave it out to evaluate at the end only");
  }
  if (options.folder().empty()) {
    throw Error("is missing", "--output", "give a folder that is new or empty, or --resume FOLDER");
  }
  if (options.resume && !options.resume->empty() && !options.output.empty() &&
      !same_file(*options.resume, options.output)) {
    throw Error("is another folder than --output", "--resume", "a run goes on in its own folder; leave --output out");
  }
  if (options.resume && options.force) {
    throw Error("goes on with a run, --force replaces it", "--resume", "choose one of the two");
  }
  if (options.hosts.empty() && (!options.start_on.empty() || !options.address.empty())) {
    throw Error("is for ranks on several hosts", options.start_on.empty() ? "--address" : "--start-on",
                "add --hosts, or leave it out");
  }
}

ordered_json to_json(const RunFailure& failure) {
  ordered_json object;
  object["rank"] = failure.rank ? ordered_json(failure.rank->value()) : ordered_json();
  object["step"] = failure.step ? ordered_json(*failure.step) : ordered_json();
  object["cause"] = failure.cause;
  object["last_lines"] = failure.last_lines;
  return object;
}

// Of the steps after the first, which warms up; of the first where there is no other.
std::optional<double> median_warm_tokens_per_second(const RunRecord& record) {
  std::vector<double> rates;
  for (std::size_t i = record.steps.size() > 1 ? 1 : 0; i < record.steps.size(); ++i) {
    rates.push_back(record.steps[i].tokens_per_second);
  }
  if (rates.empty()) {
    return std::nullopt;
  }
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

template <class Records, class Get>
std::optional<double> mean_seconds(const Records& records, const Get& get) {
  double sum = 0;
  std::int64_t count = 0;
  for (const auto& record : records) {
    const std::optional<Seconds> time = get(record);
    sum += time ? time->si() : 0;
    count += time ? 1 : 0;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

// Of the whole run, earlier parts of a resumed one included. Goodput: time of the steps that count, by the wall's.
ordered_json recovery_json(const RunRecord& record, std::int64_t restarts) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  const auto complete = std::count_if(record.saves.begin(), record.saves.end(),
                                      [](const SaveRecord& save) { return save.failure.empty(); });
  const StepsBesideSaves beside = steps_beside_saves(record);
  std::optional<double> goodput;
  if (record.wall_time && record.wall_time->si() > 0) {
    goodput = record.useful_time().si() / record.wall_time->si();
  }
  return {
      {"checkpoints", complete},
      {"failed_checkpoints", static_cast<std::int64_t>(record.saves.size()) - complete},
      {"restarts", restarts},
      {"lost_steps", record.lost_steps},
      {"lost_s", record.lost_time.si()},
      {"useful_s", record.useful_time().si()},
      {"wall_s", record.wall_time ? ordered_json(record.wall_time->si()) : ordered_json()},
      {"goodput", optional(goodput)},
      {"undisturbed_step_s", beside.undisturbed.si()},
      {"slowed_s", optional(mean_seconds(beside.slowed, [](Seconds slowed) { return std::optional(slowed); }))},
      {"blocking_s",
       optional(mean_seconds(record.saves, [](const SaveRecord& save) { return std::optional(save.blocking_time); }))},
      {"save_s",
       optional(mean_seconds(record.saves, [](const SaveRecord& save) { return std::optional(save.save_time); }))},
      {"detect_s",
       optional(mean_seconds(record.failures, [](const FailureRecord& failure) { return failure.detection_time; }))},
      {"restart_s",
       optional(mean_seconds(record.restarts, [](const RestartRecord& restart) { return restart.restart_time; }))},
      {"load_s", optional(mean_seconds(
                     record.restarts, [](const RestartRecord& restart) { return std::optional(restart.load_time); }))}};
}

// The first step, from 1, whose loss isn't a number. Such a loss poisons every weight: nothing later is of use.
std::optional<std::int64_t> diverged_in(const RunRecord& record) {
  const auto lost = std::ranges::find_if(record.steps, [](const auto& step) { return !std::isfinite(step.loss); });
  return lost == record.steps.end() ? std::nullopt : std::optional(lost->step + 1);
}

ordered_json to_json(const Options& options, const RunRecord& record, const executor::RunOutcome& outcome,
                     double elapsed) {
  const auto optional = [](const auto& value) { return value ? ordered_json(*value) : ordered_json(); };
  ordered_json object;
  object["folder"] = options.folder();
  object["steps"] = record.steps.size();
  object["first_loss"] = record.steps.empty() ? ordered_json() : ordered_json(record.steps.front().loss);
  object["last_loss"] = record.steps.empty() ? ordered_json() : ordered_json(record.steps.back().loss);
  object["tokens_per_second"] = optional(median_warm_tokens_per_second(record));
  object["evaluation"] = ordered_json();
  if (!record.evaluations.empty()) {
    const EvaluationRecord& last = record.evaluations.back();
    object["evaluation"] = {{"step", last.step}, {"loss", last.loss}, {"unigram_entropy", last.unigram_entropy}};
  }
  object["diverged_in_step"] = optional(diverged_in(record));
  object["resumed_after_step"] = optional(outcome.resumed_after);
  object["elapsed_s"] = elapsed;
  object["recovery"] = recovery_json(record, outcome.restarts);
  object["interrupted"] = outcome.interrupted_by.has_value();
  object["failure"] = outcome.failure ? to_json(*outcome.failure) : ordered_json();
  return object;
}

void print_failure(const Session& session, const RunFailure& failure) {
  std::string where;
  if (failure.rank) {
    where = fmt::format(" rank {}", failure.rank->value());
  }
  if (failure.step) {
    where += fmt::format(" in step {}", *failure.step + 1);
  }
  fmt::print(stderr, "{}{}: {}\n", session.err.red("trainyard: the run failed,"), where, failure.cause);
  for (const std::string& line : failure.last_lines) {
    fmt::print(stderr, "  | {}\n", line);
  }
}

void print_summary(const Options& options, const RunRecord& record, const executor::RunOutcome& outcome,
                   double elapsed) {
  const std::int64_t restarts = outcome.restarts;
  if (!record.steps.empty()) {
    const auto steps = static_cast<std::int64_t>(record.steps.size());
    const std::int64_t before = outcome.resumed_after.value_or(0);
    const std::string part = before > 0 ? fmt::format(", {} of them now", steps - before) : std::string();
    fmt::print("{}{} in {}, loss {:.3f} to {:.3f}, {:.0f} tokens/s\n", counted(steps, "step"), part,
               format_quantity(from_si<Seconds>(elapsed)), record.steps.front().loss, record.steps.back().loss,
               median_warm_tokens_per_second(record).value_or(0));
  }
  if (!record.evaluations.empty()) {
    const EvaluationRecord& last = record.evaluations.back();
    fmt::print("held-back text: loss {:.3f} nats; knowing only how often each byte occurs gives {:.3f}\n", last.loss,
               last.unigram_entropy);
  }
  if (restarts > 0) {
    fmt::print("restarted {}, {} done twice\n", counted(restarts, "time"), counted(record.lost_steps, "step"));
  }
  fmt::print("in {}: record.jsonl, trace.json{}\n", options.folder(), options.no_model ? "" : ", model/");
}

RunRecord record_so_far(const executor::RunFiles& files) {
  // A rank that died before its first line leaves a record with an end only, or none.
  try {
    return read_run_record(files.record());
  } catch (const Error&) {
    return {};
  }
}

int run(const Session& session, const Options& options) {
  check_options(options);
  const Plan plan = read_plan(options.plan);
  const executor::RunFiles files{options.folder()};
  const executor::RunOptions run = run_options(options, plan);
  const std::int64_t steps = std::min(options.steps.value_or(plan.training.steps), plan.training.steps);
  const bool gpus = run.device.kind == executor::DeviceKind::kCuda;
  fmt::print(stderr, "{} on {}{}: {}\n", plan.model.name, counted(plan.layout.ranks(), gpus ? "GPU rank" : "rank"),
             gpus ? std::string() : " of " + counted(run.threads_per_rank, "thread"), describe(plan.layout));
  RunProgress progress(session.err, steps);
  const executor::RunCallbacks callbacks{
      .on_record = [&](const std::string& line) { progress.record(line); },
      .on_message = [&](int rank, const std::string& line) { progress.message(rank, line); },
      .on_notice = [&](const std::string& text) { progress.notice(text); }};
  const auto begin = std::chrono::steady_clock::now();
  const executor::RunOutcome outcome = executor::launch_run(plan, run, session.executable, callbacks);
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  progress.clear();

  const RunRecord record = record_so_far(files);
  if (session.json) {
    print_json(to_json(options, record, outcome, elapsed));
  }
  if (outcome.interrupted_by) {
    fmt::print(stderr, "interrupted after {}; what there is lies in {}\n",
               counted(static_cast<std::int64_t>(record.steps.size()), "step"), options.folder());
    return kInterrupted;
  }
  if (outcome.failure) {
    print_failure(session, *outcome.failure);
    fmt::print(stderr, "  record: {}\n", files.record().string());
    return kFailedRun;
  }
  if (!session.json) {
    print_summary(options, record, outcome, elapsed);
  }
  if (const auto step = diverged_in(record)) {
    fmt::print(stderr, "{} the loss is not a number from step {} on: the weights are of no use; a lower {}\n",
               session.err.red("trainyard: the training diverged:"), *step,
               "--learning-rate or --initial-std, or more --warmup, in `trainyard plan`");
    return kFailedRun;
  }
  return kOk;
}

}  // namespace

void add_run(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(app, session,
                            {"run", "Train: execute a plan on this machine, a process a rank",
                             "  trainyard run plan.json --data bible.txt --output runs/first"});
  verb->add_option("PLAN", options->plan, "plan.json that `plan` wrote")->required();
  verb->add_option("--data", options->data, "Text to train on, read as bytes; its end is held back")
      ->type_name("FILE")
      ->required();
  verb->add_option("--output", options->output, "Folder for the run's record, trace and weights")->type_name("FOLDER");
  verb->add_option(
          "--resume", options->resume,
          "Go on with the run in the folder from its last good checkpoint; without FOLDER in that of --output, "
          "where a run begins if there is none yet")
      ->type_name("[FOLDER]")
      ->expected(0, 1)
      ->default_str("");
  verb->add_option("--steps", options->steps, "Stop after this many of the plan's steps");
  verb->add_option("--init", options->initial_weights,
                   "Folder of Hugging Face safetensors to begin with; a resumed run has its own, unless it has no "
                   "checkpoint yet")
      ->type_name("FOLDER");
  verb->add_option("--device", options->device,
                   "cpu, cuda, or auto: GPUs where every rank gets one of its own, otherwise the CPU")
      ->type_name("DEVICE")
      ->default_str("auto");
  verb->add_option("--ranks-per-gpu", options->ranks_per_gpu, "To test with more ranks than GPUs; slow")
      ->type_name("N");
  verb->add_option("--hosts", options->hosts, "Share the ranks out over these hosts, in blocks")
      ->type_name("NAME,...")
      ->delimiter(',');
  verb->add_option("--start-on", options->start_on,
                   "What starts a rank on another host and takes the environment along; {host} is its name (default: "
                   "srun with one task there)")
      ->type_name("WORDS");
  verb->add_option("--address", options->address,
                   "This host's IPv4 address, where the ranks meet; otherwise the one that leads to the last host");
  verb->add_option("--threads", options->threads, "Threads of each rank; otherwise the cores, shared out evenly");
  verb->add_option("--evaluate-every", options->evaluate_every,
                   "Steps between evaluations on held-back text; there is one at the end in any case");
  verb->add_option("--profile", options->profile, "This machine, as `calibrate` measured it: its peak gives the MFU")
      ->type_name("FILE");
  verb->add_option(
          "--inject", options->faults,
          "Faults on purpose: kill@20s (SIGKILL, exponential with this mean; kill@20s,50: at most 50), hang@STEP, "
          "bitflip:TENSOR@STEP")
      ->type_name("FAULT");
  verb->add_option("--inject-seed", options->fault_seed, "Of the faults' random choices")->type_name("N");
  verb->add_flag("--no-model", options->no_model, "Don't save the final weights");
  verb->add_flag(
      "--graphs", options->graphs,
      "Enqueue what every step repeats as a whole: a CUDA graph on a GPU, until the first message of the step");
  verb->add_flag("--force", options->force, "Replace an earlier run in the folder");
  verb->callback([options, &action] { action = [options](const Session& s) { return run(s, *options); }; });
}

}  // namespace trainyard::cli
