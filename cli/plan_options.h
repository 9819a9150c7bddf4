// What `plan` was asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/input_options.h"
#include "cli/layout_options.h"
#include "cli/machine_option.h"
#include "cli/recovery_options.h"
#include "cli/stack_option.h"
#include "cli/training_options.h"

namespace trainyard::cli {

struct PlanOptions {
  std::string model;
  MachineOption machine;
  std::int64_t ranks = 1;
  TrainingOptions training;
  RecoveryOptions recovery;
  LayoutOptions layout;
  std::size_t top = 10;
  std::size_t pick = 1;
  std::optional<std::string> explain;  // empty: the best; else a layout, as the table writes it
  std::string output;
  // On a cluster of published numbers.
  std::string accelerator;  // of a fabric that doesn't tell
  StackOption software;
  InputOptions input;
  bool offload = false;
  bool vary_overlap = false;
  bool exhaustive = false;
  int threads = 2;
  std::optional<double> gpu_hour_price;
  std::size_t simulated = 0;  // of the best, on the cluster's graph
  bool sensitivity = false;
  std::vector<std::int64_t> sweep;
  bool strong = false;
  std::string svg;
  std::string maximize;
  std::string goal = "speed";  // or "goodput": useful tokens a day
  std::string failures;        // of that goal
  std::string policy;
  std::string memory;  // of a rank, instead of what the machine has; empty: that

  bool by_goodput() const { return goal == "goodput"; }
};

}  // namespace trainyard::cli
