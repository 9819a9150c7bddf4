#include "cli/reliability_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "cli/stack_option.h"
#include "core/document/nearest_name.h"
#include "core/error.h"
#include "core/plan/plan_size.h"
#include "core/units/parse_quantity.h"

namespace trainyard::cli {

namespace {

constexpr std::array kPolicies = {
    RecoveryKind::kRestartFromStorage, RecoveryKind::kPeerMemory, RecoveryKind::kTwoLevel, RecoveryKind::kInProcess,
    RecoveryKind::kDropReplica,        RecoveryKind::kShrink,     RecoveryKind::kHotSpares};
constexpr std::array kDetectors = {DetectorKind::kLossSpike, DetectorKind::kGradientNorm, DetectorKind::kReplicaHash,
                                   DetectorKind::kGemmChecksum, DetectorKind::kReexecution};
constexpr std::int64_t kMostRuns = 10'000'000;
constexpr double kMostPrice = 1e6;
constexpr Seconds kShortestTime = from_si<Seconds>(1e-6);
constexpr Seconds kLongestTime = from_si<Seconds>(100 * 365.25 * 86400);
constexpr double kMostTokens = 1e18;

template <class Kinds>
std::vector<std::string> names_of(const Kinds& kinds) {
  std::vector<std::string> names;
  for (const auto kind : kinds) {
    names.emplace_back(to_string(kind));
  }
  return names;
}

template <class Kinds>
auto parse_name(const std::string& name, const Kinds& kinds, const std::string& where, const char* what) {
  for (const auto kind : kinds) {
    if (name == to_string(kind)) {
      return kind;
    }
  }
  const std::vector<std::string> names = names_of(kinds);
  const auto near = nearest_name(name, names);
  throw Error(fmt::format("there is no {} \"{}\"", what, name), where,
              near ? "did you mean \"" + *near + "\"?" : fmt::format("one of {}", fmt::join(names, ", ")));
}

void add_job(CLI::App& verb, ReliabilityOptions& options) {
  const char* what = "Which job";
  verb.add_option("--plan", options.plan, "plan.json that `plan` wrote")->type_name("FILE")->group(what);
  verb.add_option("--cluster", options.cluster,
                  "A fabric, a topology file or a name of models/clusters; by default the one that the plan names")
      ->type_name("FILE")
      ->group(what);
  verb.add_option("--model", options.model, "Instead of a plan: config.json, or a name of models/llm")
      ->type_name("FILE")
      ->group(what);
  verb.add_option("--ranks", options.ranks, "Instead of a plan: devices to train on")
      ->check(CLI::Range(std::int64_t{1}, kMostRanks))
      ->group(what);
  verb.add_option("--sequence", options.sequence, "Instead of a plan: tokens per sample")
      ->check(CLI::PositiveNumber)
      ->group(what);
  verb.add_option("--global-batch", options.global_batch, "Instead of a plan: samples per step, over all ranks")
      ->group(what);
  verb.add_option("--layout", options.layout_words,
                  "Instead of a plan: as `plan` writes it, such as \"tp8 pp16 zero1\"; by default the fastest")
      ->type_name("WORDS")
      ->group(what);
  verb.add_option("--accelerator", options.accelerator, "With a fabric: its GPUs, by their name otherwise")
      ->type_name("FILE")
      ->group(what);
  add_stack_option(verb, options.stack, what);
  verb.add_option("--step-time", options.step_time, "Of an undisturbed step, instead of the predicted one: \"5.2 s\"")
      ->type_name("TIME")
      ->group(what);
}

void add_failures(CLI::App& verb, ReliabilityOptions& options) {
  const char* what = "What fails, and how fast it is mended";
  verb.add_option("--failures", options.failures,
                  "Failure profile, a file or a name of models/failures: llama3-h100 (default), rsc1-a100, rsc2-a100, "
                  "immature, none")
      ->type_name("FILE")
      ->group(what);
  verb.add_option("--mean-time-between-failures", options.mean_time_between_failures,
                  "Instead of the profile's failures: processes that die, so often on average (\"20 s\")")
      ->type_name("TIME")
      ->group(what);
  verb.add_option("--record", options.record,
                  "Run record of an earlier run: its step, save, load and restart times instead of the profile's")
      ->type_name("FILE")
      ->group(what);
  verb.add_option("--interval", options.interval, "Work between saves (\"15 min\"); by default the best")
      ->type_name("TIME")
      ->group(what);
  verb.add_option("--archive", options.archive,
                  "Work between saves that are kept for longer, for corruptions that are found late; 2 h by default")
      ->type_name("TIME")
      ->group(what);
  verb.add_option("--policy", options.policy,
                  fmt::format("How it goes on: {}; by default the plan's", fmt::join(names_of(kPolicies), ", ")))
      ->type_name("NAME")
      ->group(what);
  verb.add_option("--spares", options.spares, "Nodes that wait for others to fail")->group(what);
  verb.add_option("--hang-timeout", options.hang_timeout, "After which a silent stop is noticed")
      ->type_name("TIME")
      ->group(what);
  verb.add_option("--detectors", options.detectors,
                  fmt::format("Of silent corruption: {}, or none", fmt::join(names_of(kDetectors), ", ")))
      ->type_name("NAME,...")
      ->delimiter(',')
      ->group(what);
}

void add_answers(CLI::App& verb, ReliabilityOptions& options) {
  const char* what = "What to answer";
  verb.add_option("--tokens", options.tokens, "Days until so many are trained on: 15.6T, 300B, 1e12")
      ->type_name("COUNT")
      ->group(what);
  verb.add_option("--duration", options.duration, "Without --tokens: simulate so long; 30 d by default")
      ->type_name("TIME")
      ->group(what);
  verb.add_option("--gpu-hour-price", options.gpu_hour_price, "Of one GPU for an hour, in any currency")->group(what);
  verb.add_option("--runs", options.runs, "Simulated runs; 0: closed forms only")
      ->check(CLI::Range(std::int64_t{0}, kMostRuns))
      ->group(what);
  verb.add_option("--seed", options.seed, "Of the simulated runs: the same seed, the same answer")->group(what);
  verb.add_option("--threads", options.threads, "Threads; the answer is the same for any number")
      ->check(CLI::Range(1, 256))
      ->group(what);
  verb.add_option("--sweep-ranks", options.sweep_ranks, "MTTF and goodput at these numbers of ranks")
      ->type_name("RANKS,...")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, kMostRanks))
      ->group(what);
  verb.add_option("--replay", options.replay, "A recorded trace of incidents, CSV of start, end, node")
      ->type_name("FILE")
      ->group(what);
  verb.add_option("--fleet", options.fleet,
                  "With --replay: nodes of the traced fleet, those without incidents included")
      ->check(CLI::Range(std::int64_t{1}, kMostRanks))
      ->group(what);
  verb.add_option("--svg", options.svg, "Charts: goodput by interval, MTTF by scale, one simulated month")
      ->type_name("FILE")
      ->group(what);
  verb.add_option("--png", options.png, "The same as a picture")->type_name("FILE")->group(what);
}

}  // namespace

void add_reliability_options(CLI::App& verb, ReliabilityOptions& options) {
  add_job(verb, options);
  add_failures(verb, options);
  add_answers(verb, options);
}

void check_reliability_options(const ReliabilityOptions& options) {
  if (options.plan.empty() == options.model.empty()) {
    throw Error(options.plan.empty() ? "which job?" : "a plan has its own model",
                options.plan.empty() ? "--plan" : "--model",
                "--plan PLAN.json, or --model MODEL --cluster CLUSTER --ranks N --global-batch B");
  }
  if (!options.model.empty()) {
    const std::array<std::pair<bool, const char*>, 3> needed = {{{!options.cluster.empty(), "--cluster"},
                                                                 {options.ranks > 0, "--ranks"},
                                                                 {options.global_batch > 0, "--global-batch"}}};
    for (const auto& [given, flag] : needed) {
      if (!given) {
        throw Error("is needed beside --model", flag, "or give --plan PLAN.json");
      }
    }
  } else if (options.ranks > 0 || options.global_batch > 0 || !options.layout_words.empty()) {
    throw Error("a plan has its own ranks, batch and layout",
                options.ranks > 0          ? "--ranks"
                : options.global_batch > 0 ? "--global-batch"
                                           : "--layout",
                "leave it out, or give --model instead of --plan");
  }
  if (options.spares && (*options.spares < 0 || *options.spares > kMostRanks)) {
    throw Error(fmt::format("must be 0 to {}", kMostRanks), "--spares", "0 for none");
  }
  if (options.fleet && options.replay.empty()) {
    throw Error("belongs to --replay", "--fleet", "add --replay TRACE.csv, or leave it out");
  }
  if (options.gpu_hour_price && !(*options.gpu_hour_price > 0.0 && *options.gpu_hour_price < kMostPrice)) {
    throw Error(fmt::format("must be above 0 and below {}", kMostPrice), "--gpu-hour-price",
                "what an hour of one GPU costs, in any currency");
  }
  if (!options.tokens.empty() && !options.duration.empty()) {
    throw Error("isn't answered beside --tokens", "--duration", "one of the two says when a run ends");
  }
  if (!options.failures.empty() && !options.mean_time_between_failures.empty()) {
    throw Error("replaces the profile's failures", "--mean-time-between-failures",
                "leave out one of --failures and --mean-time-between-failures");
  }
}

double parse_tokens(const std::string& text, const std::string& where) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) {
    unit.remove_prefix(1);
  }
  const double scale = unit.empty()                 ? 1.0
                       : unit == "k" || unit == "K" ? 1e3
                       : unit == "M"                ? 1e6
                       : unit == "B" || unit == "G" ? 1e9
                       : unit == "T"                ? 1e12
                                                    : 0.0;
  const double tokens = number * scale;
  if (status != std::errc() || !(tokens >= 1.0) || !(tokens <= kMostTokens)) {
    throw Error("\"" + text + "\" is not a number of tokens", where, "for example 15.6T, 300B or 1e12");
  }
  return tokens;
}

std::vector<DetectorKind> parse_detectors(const std::vector<std::string>& names, const std::string& where) {
  if (names.size() == 1 && (names.front().empty() || names.front() == "none")) {
    return {};
  }
  std::vector<DetectorKind> kinds;
  for (const std::string& name : names) {
    const DetectorKind kind = parse_name(name, kDetectors, where, "detector");
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      throw Error(name + " is named twice", where, "leave one out");
    }
    kinds.push_back(kind);
  }
  return kinds;
}

std::optional<Seconds> time_of(const std::string& text, const std::string& flag) {
  if (text.empty()) {
    return std::nullopt;
  }
  const Seconds time = parse_quantity<Seconds>(text, flag);
  if (!(time >= kShortestTime && time <= kLongestTime)) {
    throw Error("must be 1 us to 100 years", flag, "a time such as \"15 min\"");
  }
  return time;
}

}  // namespace trainyard::cli
