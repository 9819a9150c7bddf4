// What `reliability` was asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/layout_options.h"
#include "core/plan/recovery_policy.h"
#include "core/units/quantity.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

struct ReliabilityOptions {
  std::string plan;
  std::string cluster;
  // Without a plan.
  std::string model;
  std::int64_t ranks = 0;
  std::int64_t sequence = 8192;
  std::int64_t global_batch = 0;
  std::string layout_words;
  LayoutOptions layout;
  std::string accelerator;
  std::string stack;

  std::string failures;
  std::string mean_time_between_failures;
  std::string record;  // of a run whose saves and restarts were measured
  std::string step_time;

  std::string interval;
  std::string archive;
  std::string policy;
  std::optional<std::int64_t> spares;
  std::optional<std::vector<std::string>> detectors;
  std::string hang_timeout;

  std::string tokens;
  std::string duration;
  std::optional<double> gpu_hour_price;
  std::int64_t runs = 1000;
  std::uint64_t seed = 1;
  int threads = 2;
  std::string replay;
  std::optional<std::int64_t> fleet;  // nodes of the trace's fleet
  std::vector<std::int64_t> sweep_ranks;
  std::string svg;
  std::string png;
};

void add_reliability_options(CLI::App& verb, ReliabilityOptions& options);

// Throws Error for flags that contradict each other.
void check_reliability_options(const ReliabilityOptions& options);

// "15.6T", "1e12", "300 B": a number of tokens.
double parse_tokens(const std::string& text, const std::string& where);

std::vector<DetectorKind> parse_detectors(const std::vector<std::string>& names, const std::string& where);

// Of a flag with a time; nothing where it wasn't given.
std::optional<Seconds> time_of(const std::string& text, const std::string& flag);

}  // namespace trainyard::cli
