#include "executor/calibration/launch_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <sstream>
#include <string_view>

#include "core/error.h"
#include "executor/calibration/process_baseline.h"
#include "executor/communicator/peer_lost.h"
#include "executor/device/cuda_module.h"
#include "executor/machine/machine.h"
#include "executor/run/rank_backend.h"
#include "executor/supervisor/local_launcher.h"
#include "executor/supervisor/rank_environment.h"
#include "executor/supervisor/watcher.h"

namespace trainyard::executor {

namespace {

// What rank 0 prints: lines "progress SHARE WHAT", then "noise SHARE", then "profile" and the document.
constexpr std::string_view kProgress = "progress ";
constexpr std::string_view kNoise = "noise ";
constexpr std::string_view kProfile = "profile\n";

class OutputReader {
 public:
  explicit OutputReader(const CalibrationProgress& progress) : progress_(progress) {}

  void add(std::string_view bytes) {
    text_ += bytes;
    while (!in_profile_) {
      const std::size_t end = text_.find('\n');
      if (end == std::string::npos) {
        return;
      }
      take(text_.substr(0, end + 1));
      text_.erase(0, end + 1);
    }
  }
  double noise() const { return noise_; }
  DeviceProfile profile() const {
    check(in_profile_, "a calibration that ended well has printed its profile");
    return parse_device_profile(text_, "the calibration's profile");
  }

 private:
  void take(const std::string& line) {
    if (line.starts_with(kProgress)) {
      std::istringstream words(line.substr(kProgress.size()));
      double share = 0;
      std::string what;
      words >> share >> std::ws;
      std::getline(words, what);
      progress_(share, what);
    } else if (line.starts_with(kNoise)) {
      noise_ = std::stod(line.substr(kNoise.size()));
    } else {
      in_profile_ = line == kProfile;
    }
  }

  const CalibrationProgress& progress_;
  std::string text_;
  double noise_ = 0.0;
  bool in_profile_ = false;
};

CalibrationOptions options_from(const std::vector<std::string>& arguments) {
  CalibrationOptions options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--quick") {
      options.quick = true;
    } else if (arguments[i] == "--device" && i + 1 < arguments.size()) {
      options.device.kind = parse_device(arguments[++i]).value_or(DeviceKind::kCpu);
    } else if (arguments[i] == "--ranks-per-gpu" && i + 1 < arguments.size()) {
      options.device.ranks_per_gpu = std::stoi(arguments[++i]);
    } else if (arguments[i] == "--threads" && i + 1 < arguments.size()) {
      options.threads_per_rank = std::stoi(arguments[++i]);
    } else {
      throw Error("unknown argument " + arguments[i], "rank", "use `trainyard calibrate`");
    }
  }
  return options;
}

// A GPU's profile has its name and memory; what a process takes of it beside its buffers is not measured.
DeviceProfile make_profile(Concurrency concurrency, const DeviceChoice& choice) {
  const Machine machine = read_machine();
  DeviceProfile profile;
  profile.name = machine.host;
  profile.device = std::string(to_string(choice.kind));
  profile.provenance.version = tool_version();
  MeasuredProfile measured;
  measured.memory = machine.memory.usable();
  if (choice.kind == DeviceKind::kCuda) {
    const Gpu gpu = cuda_status().gpus.front();
    profile.name += " " + gpu.name;
    measured.memory = ByteCount(gpu.memory.value() / choice.ranks_per_gpu);
  }
  measured.concurrencies.push_back(std::move(concurrency));
  profile.data = std::move(measured);
  return profile;
}

void print_profile(const Calibration& calibration, const DeviceChoice& choice) {
  const std::string document = to_json(make_profile(calibration.concurrency, choice));
  fmt::print("{}{}\n{}{}", kNoise, calibration.noise, kProfile, document);
  std::fflush(stdout);
}

}  // namespace

CalibrationOutcome launch_calibration(int ranks, const CalibrationOptions& options,
                                      const std::filesystem::path& executable, const CalibrationProgress& progress) {
  LaunchOptions launch;
  launch.command = {executable.string(),
                    "rank",
                    kCalibrateArgument,
                    "--threads",
                    std::to_string(options.threads_per_rank),
                    "--device",
                    std::string(to_string(options.device.kind)),
                    "--ranks-per-gpu",
                    std::to_string(options.device.ranks_per_gpu)};
  if (options.quick) {
    launch.command.emplace_back("--quick");
  }
  launch.ranks = ranks;
  launch.job = "calibrate";
  launch.consequence_exit = kPeerLostExit;
  launch.environment = backend_environment(options.device, false, true);
  launch.interrupt_patience = std::chrono::milliseconds(200);  // nothing to save
  OutputReader reader(progress);
  launch.on_output = [&](int rank, OutputStream stream, std::string_view bytes) {
    if (rank == 0 && stream == OutputStream::kOut) {
      reader.add(bytes);
    }
  };
  const LaunchResult result = launch_local(launch);

  CalibrationOutcome outcome;
  outcome.interrupted_by = result.interrupted_by;
  if (result.failure) {
    outcome.failure =
        RunFailure{Rank(result.failure->rank), std::nullopt, result.failure->cause, result.failure->last_lines};
  }
  if (result.ok()) {
    outcome.noise = reader.noise();
    outcome.profile = reader.profile();
    if (options.device.kind == DeviceKind::kCuda) {
      return outcome;
    }
    const ProcessBaseline baseline = measure_process_baseline(ranks, options.threads_per_rank, executable);
    outcome.failure = baseline.outcome.failure;
    outcome.interrupted_by = baseline.outcome.interrupted_by;
    std::get<MeasuredProfile>(outcome.profile->data).concurrencies.front().process_baseline = baseline.bytes;
  }
  return outcome;
}

void calibration_rank_main(const std::vector<std::string>& arguments) {
  const CalibrationOptions options = options_from(arguments);
  const auto environment = rank_environment();
  if (!environment) {
    throw Error("is started by the launcher only", "rank", "use `trainyard calibrate`");
  }
  std::atomic<Communicator*> reachable = nullptr;
  const auto abort = [&reachable](const std::string& why) {
    if (Communicator* communicator = reachable.load()) {
      communicator->abort(why);
    }
  };
  RankBackend backend(*environment, {.choice = options.device,
                                     .threads = options.threads_per_rank,
                                     .on_failure = [&abort] { abort("work on another stream failed"); }});
  reachable = &backend.communicator();
  Calibration calibration;
  {
    const Watcher watcher(*environment, abort);
    double shown = -1;
    calibration =
        calibrate(backend.device(), backend.communicator(), options, [&](double share, const std::string& what) {
          if (environment->rank == 0 && (share - shown >= 0.01 || share >= 1)) {
            shown = share;
            fmt::print("{}{:.3f} {}\n", kProgress, share, what);
            std::fflush(stdout);
          }
        });
    backend.communicator().barrier();
  }
  reachable = nullptr;
  if (environment->rank == 0) {
    print_profile(calibration, options.device);
  }
}

}  // namespace trainyard::executor
