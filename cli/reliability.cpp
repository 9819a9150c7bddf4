// trainyard reliability: how often a job stops, and how much useful training is left.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/exit_code.h"
#include "cli/file_arguments.h"
#include "cli/json/output.h"
#include "cli/long_answer.h"
#include "cli/reliability_charts.h"
#include "cli/reliability_job.h"
#include "cli/reliability_options.h"
#include "cli/reliability_report.h"
#include "cli/verbs.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/units/format_quantity.h"

namespace trainyard::cli {

namespace {

constexpr double kUsualDuration = 30.0 * 86400.0;

std::vector<simulator::ScaleAnswer> scales(const ReliabilityAnswer& answer, LongAnswer& progress) {
  std::vector<std::int64_t> ranks = answer.options.sweep_ranks;
  if (ranks.empty()) {
    ranks = simulator::usual_scales(answer.job.job_case());
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<simulator::ScaleAnswer> found;
  for (const std::int64_t count : ranks) {
    progress.show(fmt::format("{} ranks", count));
    found.push_back(simulator::at_scale(answer.job.job_case(), count, answer.resolved.job, answer.reliability.mttf));
  }
  return found;
}

void simulate(ReliabilityAnswer& answer, LongAnswer& progress) {
  const ReliabilityOptions& options = answer.options;
  if (options.runs == 0) {
    return;
  }
  simulator::SimulationRequest request;
  request.runs = options.runs;
  request.seed = options.seed;
  request.threads = options.threads;
  request.tokens = answer.tokens;
  if (!request.tokens) {
    request.duration = answer.horizon;
  }
  request.vary_inputs = true;
  request.progress = [&](std::int64_t done) { progress.show(fmt::format("{} of {} runs", done, options.runs)); };
  answer.simulated = simulator::simulate_job(answer.resolved.job, request);
}

void replay(ReliabilityAnswer& answer, LongAnswer& progress) {
  const ReliabilityOptions& options = answer.options;
  if (options.replay.empty()) {
    return;
  }
  progress.show("replaying " + options.replay);
  const simulator::IncidentTrace trace = simulator::read_incident_trace(options.replay);
  const simulator::ReplayRequest request{options.fleet, options.seed};
  answer.replayed = {simulator::trace_statistics(trace, options.fleet),
                     simulator::replay_trace(answer.resolved.job, trace, request)};
}

// How long, and how many tokens: as asked; on CPUs the plan's own steps.
void take_horizon(ReliabilityAnswer& answer) {
  const ReliabilityOptions& options = answer.options;
  if (!options.tokens.empty()) {
    answer.tokens = parse_tokens(options.tokens, "--tokens");
  } else if (answer.job.on_cpus() && options.duration.empty()) {
    answer.tokens = answer.resolved.job.tokens_per_step * static_cast<double>(answer.job.plan().training.steps);
  }
  answer.horizon = time_of(options.duration, "--duration").value_or(from_si<Seconds>(kUsualDuration));
  if (answer.tokens && answer.reliability.tokens_per_day > 0.0) {
    answer.horizon = from_si<Seconds>(86400.0 * *answer.tokens / answer.reliability.tokens_per_day);
  }
}

void answer_all(ReliabilityAnswer& answer, LongAnswer& progress) {
  const simulator::JobModel& job = answer.resolved.job;
  answer.reliability = simulator::analyse(job);
  answer.range = simulator::goodput_range(job);
  take_horizon(answer);
  answer.intervals = simulator::intervals_around(job, answer.best.storage);
  answer.scales = scales(answer, progress);
  progress.show("policies and detectors");
  answer.policies = simulator::compare_policies([&](RecoveryKind kind) { return answer.job.job_case().resolve(kind); });
  answer.detectors = simulator::compare_detectors(job);
  answer.checksum_hardware = simulator::with_checksum_hardware(job);
  answer.advised = &simulator::advised_detectors(answer.detectors, answer.horizon);
  answer.costs = simulator::failure_costs(answer.resolved);
  answer.timeouts = simulator::advised_timeouts(job);
  answer.goodput_advised =
      simulator::analyse(
          simulator::with_advice(job, answer.timeouts, answer.reliability.nodes_down_p99, answer.advised->kinds))
          .goodput;
  answer.sensitivities = simulator::sensitivities(job);
  simulate(answer, progress);
  replay(answer, progress);
}

void write_charts(const ReliabilityAnswer& answer) {
  const ReliabilityOptions& options = answer.options;
  if (options.svg.empty() && options.png.empty()) {
    return;
  }
  const Drawing drawing = reliability_charts(answer);
  if (!options.svg.empty()) {
    write_file(options.svg, to_svg(drawing));
  }
  if (!options.png.empty()) {
    write_file(options.png, to_png(drawing));
  }
}

int reliability(const Session& session, const ReliabilityOptions& options) {
  check_reliability_options(options);
  require_separate_files({{"--svg", options.svg}, {"--png", options.png}},
                         {{"--plan", options.plan}, {"--record", options.record}, {"--replay", options.replay}});
  std::optional<LongAnswer> progress(std::in_place, session);
  const ReliabilityJob job(*progress, options);
  ReliabilityAnswer answer{
      .options = options, .job = job, .resolved = job.job_case().resolve(job.plan().recovery.kind)};
  if (!options.interval.empty() && answer.resolved.job.checkpoints.storage.interval < job.step_time()) {
    throw Error(
        fmt::format("{} is less than a step, which takes {}", options.interval, format_quantity(job.step_time())),
        "--interval", "saves are made between steps");
  }
  answer.interval_given = !options.interval.empty() || job.plan().checkpoint.every_steps.has_value();
  if (answer.interval_given) {
    answer.best = simulator::best_interval(answer.resolved.job);
  } else {
    answer.best = simulator::set_best_interval(answer.resolved.job);
  }
  answer_all(answer, *progress);
  progress->commit([&] { write_charts(answer); });
  progress.reset();
  if (session.json) {
    print_json(to_json(answer));
  } else {
    print_reliability(session, answer);
  }
  return kOk;
}

}  // namespace

void add_reliability(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<ReliabilityOptions>();
  CLI::App* verb =
      add_verb(app, session,
               {"reliability", "How often a job stops, what is left after each failure, and its goodput",
                "  trainyard reliability --model llama-3.1-405b --cluster llama3-16k-h100 --ranks 16384 \\\n"
                "    --global-batch 2048 --layout \"tp8 pp16 zero1\" --tokens 15.6T"});
  add_reliability_options(*verb, *options);
  verb->callback([options, &action] { action = [options](const Session& s) { return reliability(s, *options); }; });
}

}  // namespace trainyard::cli
