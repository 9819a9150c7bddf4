// trainyard calibrate: measures this machine, all ranks at once, into a device profile.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/text/counted.h"
#include "cli/text/progress.h"
#include "cli/verbs.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/plan/device_profile.h"
#include "core/units/format_quantity.h"
#include "executor/calibration/launch_calibration.h"
#include "executor/run/launch_run.h"

namespace trainyard::cli {

namespace {

using namespace std::chrono_literals;
using nlohmann::ordered_json;

constexpr int kMostRanks = 64;
constexpr double kBusy = 0.2;  // quiet virtual machines showed 0.09 to 0.15

struct Options {
  int ranks = 0;
  std::string device = "auto";
  int ranks_per_gpu = 1;
  std::optional<int> threads;
  bool quick = false;
  std::string output;
};

// A bad path should show before minutes of measuring: the temporary that AtomicFile makes is removed again.
void check_writable(const std::string& output) { const AtomicFile trial(output); }

executor::CalibrationOutcome measure(const Session& session, const Options& options,
                                     const executor::CalibrationOptions& calibration) {
  ProgressLine line(session.err, 5s);
  return executor::launch_calibration(
      options.ranks, calibration, session.executable, [&](double share, const std::string& what) {
        line.show(fmt::format("calibrating {} of {}: {:3.0f} %  {}", counted(options.ranks, "rank"),
                              counted(calibration.threads_per_rank, "thread"), 100 * share, what));
      });
}

[[noreturn]] void fail(const RunFailure& failure) {
  std::string lines;
  for (const std::string& line : failure.last_lines) {
    lines += "\n  | " + line;
  }
  throw std::runtime_error(
      fmt::format("calibration failed, rank {}: {}{}", failure.rank ? failure.rank->value() : 0, failure.cause, lines));
}

void print_summary(const Options& options, const Concurrency& measured, double noise, Seconds elapsed) {
  fmt::print("{} of {} in {}: {} a rank at best, {} kernel and {} collective samples, noise {:.1f} %\n",
             counted(measured.ranks_at_once, "rank"), counted(measured.threads_per_rank, "thread"),
             format_quantity(elapsed), format_quantity(measured.peak_gemm_rate),
             measured.gemms.size() + measured.attentions.size() + measured.elementwise.size(),
             measured.collectives.size(), 100 * noise);
  const auto to_device = best_copy_rate(measured, CopyDirection::kToDevice);
  const auto to_host = best_copy_rate(measured, CopyDirection::kToHost);
  if (to_device && to_host) {
    fmt::print("copies with the host: {} to the device, {} back\n", format_quantity(*to_device),
               format_quantity(*to_host));
  }
  if (noise > kBusy) {
    fmt::print("noise above {:.0f} %: this machine is busy with something else; calibrate again when it is quiet\n",
               100 * kBusy);
  }
  fmt::print("profile: {}\n", options.output);
}

ordered_json to_json(const Options& options, const Concurrency& measured, double noise, Seconds elapsed) {
  ordered_json object;
  object["output"] = options.output;
  object["ranks"] = measured.ranks_at_once;
  object["threads_per_rank"] = measured.threads_per_rank;
  object["peak_gemm_flops_per_second"] = measured.peak_gemm_rate.si();
  object["kernel_samples"] = measured.gemms.size() + measured.attentions.size() + measured.elementwise.size();
  object["collective_samples"] = measured.collectives.size();
  if (const auto rate = best_copy_rate(measured, CopyDirection::kToDevice)) {
    object["copy_to_device_bytes_per_second"] = rate->si();
  }
  if (const auto rate = best_copy_rate(measured, CopyDirection::kToHost)) {
    object["copy_to_host_bytes_per_second"] = rate->si();
  }
  object["noise"] = noise;
  object["elapsed_s"] = elapsed.si();
  return object;
}

int calibrate(const Session& session, const Options& options) {
  if (options.ranks < 1 || options.ranks > kMostRanks) {
    throw Error(fmt::format("must be 1 to {}", kMostRanks), "--ranks", "as many as the runs to predict will have");
  }
  if (options.threads && (*options.threads < 1 || *options.threads > executor::kMostThreads)) {
    throw Error(fmt::format("must be 1 to {}", executor::kMostThreads), "--threads", "threads of each rank");
  }
  check_writable(options.output);
  executor::CalibrationOptions calibration;
  calibration.quick = options.quick;
  calibration.device = executor::choose_device(executor::parse_device(options.device), options.ranks,
                                               options.ranks_per_gpu, executor::usable_gpus());
  calibration.threads_per_rank = options.threads.value_or(executor::threads_per_rank(options.ranks));
  const auto begin = std::chrono::steady_clock::now();
  const executor::CalibrationOutcome outcome = measure(session, options, calibration);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  if (outcome.interrupted_by) {
    fmt::print(stderr, "interrupted; nothing was written\n");
    if (session.json) {
      print_json({{"interrupted", true}});
    }
    return kInterrupted;
  }
  if (outcome.failure) {
    fail(*outcome.failure);
  }
  write_device_profile(*outcome.profile, options.output);
  const Concurrency& measured = outcome.profile->measured()->concurrencies.front();
  const Seconds time = from_si<Seconds>(elapsed.count());
  if (session.json) {
    print_json(to_json(options, measured, outcome.noise, time));
  } else {
    print_summary(options, measured, outcome.noise, time);
  }
  return kOk;
}

}  // namespace

void add_calibrate(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(app, session,
                            {"calibrate", "Measure this machine, all ranks at once, into a device profile",
                             "  trainyard calibrate --ranks 2 --output profile.json"});
  verb->add_option("--ranks", options->ranks, "How many ranks measure at once: as many as a run will have")->required();
  verb->add_option("--output", options->output, "Device profile to write")->type_name("FILE")->required();
  verb->add_option("--device", options->device, "cpu, cuda, or auto: GPUs where every rank gets one of its own")
      ->type_name("DEVICE")
      ->default_str("auto");
  verb->add_option("--ranks-per-gpu", options->ranks_per_gpu, "To test with more ranks than GPUs; slow")
      ->type_name("N");
  verb->add_option("--threads", options->threads, "Threads of each rank; otherwise the cores, shared out evenly");
  verb->add_flag("--quick", options->quick, "Fewer repeats: noisier, several times faster");
  verb->callback([options, &action] { action = [options](const Session& s) { return calibrate(s, *options); }; });
}

}  // namespace trainyard::cli
