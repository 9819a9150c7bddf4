// A calibration as the command line starts it: the ranks as processes of this host.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/device_profile.h"
#include "core/plan/run_record.h"
#include "executor/calibration/calibrate.h"

namespace trainyard::executor {

struct CalibrationOutcome {
  std::optional<DeviceProfile> profile;  // when all went well
  double noise = 0.0;
  std::optional<RunFailure> failure;
  std::optional<int> interrupted_by;  // the signal, if a user ended it
};

// The argument that tells a calibration's rank from a run's; the first after the hidden verb `rank`.
constexpr const char* kCalibrateArgument = "--calibrate";

// Starts `executable rank --calibrate ...` once per rank and waits for all of them.
CalibrationOutcome launch_calibration(int ranks, const CalibrationOptions& options,
                                      const std::filesystem::path& executable, const CalibrationProgress& progress);

// The process of one rank: `arguments` are those after the verb. Rank 0 prints progress and the result on
// standard output, for launch_calibration().
void calibration_rank_main(const std::vector<std::string>& arguments);

}  // namespace trainyard::executor
