// Times the failure model: Monte Carlo of a 54-day job on 16,384 GPUs with every mechanism on, and the closed form.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "simulator/failure/corruption_sites.h"
#include "simulator/failure/interval_search.h"
#include "simulator/failure/reliability.h"
#include "simulator/failure/series_system.h"

namespace trainyard::simulator {
namespace {

constexpr double kDay = 86400.0;

template <class T>
Ranged<T> within(T value, T low, T high) {
  return {value, low, high};
}

Seconds seconds(double value) { return from_si<Seconds>(value); }

Hazard hazard(const char* name, double per_1000_node_days, std::int64_t nodes, ArrivalLaw law, std::int64_t down) {
  const auto rate = [&](double factor) {
    return rate_of_nodes(factor * per_1000_node_days, static_cast<double>(nodes));
  };
  Hazard h;
  h.name = name;
  h.rate = within(rate(1.0), rate(0.6), rate(1.7));
  h.law = law;
  h.weibull_shape = 0.7;
  h.silent_share = within(0.135, 0.10, 0.15);
  h.detection = exactly(seconds(30));
  h.silent_detection = within(seconds(600), seconds(480), seconds(1800));
  h.nodes_down = down;
  h.process_restart_share = within(0.75, 0.4, 0.8);
  h.copies_survive = exactly(0.9);
  h.repair = {seconds(20.4 * 3600.0), 2.52, seconds(90.0 * kDay)};
  h.refault_share = exactly(0.31);
  h.refault_window = seconds(7.0 * kDay);
  return h;
}

// The defaults of reference/failures.md, section 2, with bad nodes, bursts, refaults, spares, stragglers, corruptions,
// two levels of saves.
JobModel everything_on(std::int64_t nodes) {
  JobModel job;
  job.nodes = nodes;
  job.step_time = seconds(6);
  job.tokens_per_step = 16e6;
  job.frailty = 0.93;
  job.hazards = {
      hazard("GPU", 1.99, nodes, ArrivalLaw::kFrailty, 1), hazard("host", 0.57, nodes, ArrivalLaw::kFrailty, 1),
      hazard("switch or cable", 0.38, nodes, ArrivalLaw::kExponential, 2),
      hazard("software", 0.49, nodes, ArrivalLaw::kWeibull, 0), hazard("memory", 0.36, nodes, ArrivalLaw::kFrailty, 1)};
  job.planned = {exactly(from_si<PerSecond>(0.87 / kDay)), exactly(seconds(900))};
  job.restart = {exactly(seconds(30)),
                 exactly(seconds(120)),
                 exactly(seconds(15)),
                 exactly(seconds(60)),
                 exactly(seconds(10)),
                 within(seconds(60), seconds(30), seconds(120)),
                 within(seconds(90), seconds(60), seconds(180)),
                 exactly(seconds(10)),
                 exactly(seconds(60)),
                 1.0};
  job.checkpoints.storage = {seconds(1200), within(seconds(5), seconds(1), seconds(40)), exactly(seconds(120))};
  job.checkpoints.memory = CheckpointLevel{seconds(60), exactly(seconds(0.3)), exactly(seconds(10))};
  job.checkpoints.keep = 3;
  job.checkpoints.archive_interval = seconds(kDay);
  job.checkpoints.unusable_share = exactly(0.01);
  job.replicas = {128, nodes / 128, exactly(seconds(120)), exactly(seconds(420)), exactly(seconds(120))};
  job.spares = {nodes / 64, 2.5, {}};
  job.stragglers = {within(0.03, 0.01, 0.08), exactly(from_si<PerSecond>(1.0 / kDay)), exactly(seconds(1440)),
                    exactly(0.34)};
  job.corruption.compute_errors =
      within(rate_of_fit(514, 8.0 * static_cast<double>(nodes)), rate_of_fit(283, 8.0 * static_cast<double>(nodes)),
             rate_of_fit(514, 8.0 * static_cast<double>(nodes)));
  job.corruption.sites = training_sites({10_GB, 20_GB, 10_GB, 30_GB, 2_GB});
  job.corruption.detectors = {{DetectorKind::kGemmChecksum, within(0.95, 0.8, 1.0), within(0.0086, 0.0086, 0.026),
                               exactly(PerSecond{}), exactly(seconds(0)), exactly(seconds(1800))}};
  job.policy.kind = RecoveryKind::kPeerMemory;
  job.policy.detectors = {DetectorKind::kGemmChecksum};
  return job;
}

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds_of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds_of(use.ru_utime) + seconds_of(use.ru_stime);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void time_runs(const char* name, const JobModel& job, std::int64_t runs, bool vary) {
  SimulationRequest request;
  request.runs = runs;
  request.threads = 2;
  request.vary_inputs = vary;
  const double cpu = cpu_seconds();
  const double wall = wall_seconds();
  const SimulationResult result = simulate_job(job, request);
  fmt::print("{:<46}{:>8}{:>8.2f}{:>8.2f}   goodput {:.4f} ({:.4f} to {:.4f}), failures {:.0f}\n", name, result.runs,
             cpu_seconds() - cpu, wall_seconds() - wall, result.goodput.p50, result.goodput.p10, result.goodput.p90,
             result.failures.mean);
  std::fflush(stdout);
}

void time_closed_form(const JobModel& job) {
  constexpr int kTimes = 10'000;
  double wall = wall_seconds();
  double goodput = 0.0;
  for (int i = 0; i < kTimes; ++i) {
    goodput += analyse(job).goodput / kTimes;
  }
  fmt::print("closed form: goodput {:.4f}, {:.1f} us\n", goodput, (wall_seconds() - wall) / kTimes * 1e6);
  wall = wall_seconds();
  const GoodputRange range = goodput_range(job);
  fmt::print("its 90 % range, 400 draws: {:.4f} to {:.4f}, {:.1f} ms\n", range.low, range.high,
             (wall_seconds() - wall) * 1e3);
  wall = wall_seconds();
  const BestInterval best = best_interval(job);
  fmt::print("best interval: storage {:.0f} s, memory {:.0f} s, goodput {:.4f}, {:.1f} ms\n", best.storage.si(),
             best.memory.value_or(Seconds{}).si(), best.goodput, (wall_seconds() - wall) * 1e3);
}

int bench(std::int64_t runs) {
  const JobModel job = everything_on(2048);
  time_closed_form(job);
  fmt::print("{:<46}{:>8}{:>8}{:>8}\n", "54 days, 2 threads", "runs", "cpu s", "wall s");
  time_runs("16,384 GPUs, everything on", job, runs, false);
  time_runs("16,384 GPUs, inputs drawn anew each run", job, runs, true);
  time_runs("100,000 nodes, everything on", everything_on(100'096), runs / 100, false);
  return 0;
}

}  // namespace
}  // namespace trainyard::simulator

int main(int argc, char** argv) { return trainyard::simulator::bench(argc > 1 ? std::atoll(argv[1]) : 10'000); }
