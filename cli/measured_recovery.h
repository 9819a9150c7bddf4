// What a run record says of saves, restarts and loads, as the failure model takes it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/units/quantity.h"
#include "simulator/failure/profile_resolution.h"

namespace trainyard::cli {

struct MeasuredRun {
  Seconds step_time;  // mean of steps without a save in the background (steps_beside_saves.h)
  simulator::MeasuredRecovery recovery;
  std::vector<std::string> notes;  // of how many each is, and what wasn't measured
};

// Value: the mean; range: 5th and 95th percentile of the mean, by its standard error, at least 3 %. Throws Error for a
// record without steps.
MeasuredRun measured_run(const std::filesystem::path& file);

}  // namespace trainyard::cli
