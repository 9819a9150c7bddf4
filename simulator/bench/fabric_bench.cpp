// Times routing and max-min sharing of many flows, and compares with SimGrid's on the same flow sets.
// Usage: fabric_bench [SIMGRID_FLOWS]     (the program built from simgrid_flows.cpp; without it no comparison)
//
// Times are CPU seconds (user and system) of this process: tables, routing, sharing; clusters are built before.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/cluster/builder.h"
#include "core/error.h"
#include "simulator/bench/fat_tree.h"
#include "simulator/bench/flow_patterns.h"
#include "simulator/fabric/fair_share.h"
#include "simulator/fabric/routing.h"

namespace trainyard::simulator {
namespace {

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

long peak_mib() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss / 1024;
}

// Rings over every 16th node (16 pipeline stages), one per GPU position: 128 rings of 128 GPUs, 8 channels each.
std::vector<Flow> data_parallel_rings(const Cluster& cluster, bool coupled) {
  constexpr std::size_t kGpus = 8;
  constexpr std::size_t kStages = 16;
  constexpr std::size_t kChannels = 8;
  const std::vector<VertexId> gpus = cluster.gpus();
  const std::size_t members = gpus.size() / kGpus / kStages;
  std::vector<Flow> flows;
  flows.reserve(gpus.size() * kChannels);
  for (std::size_t ring = 0; ring < kStages * kGpus; ++ring) {
    const auto member = [&](std::size_t m) {
      return gpus[(m % members * kStages + ring / kGpus) * kGpus + ring % kGpus];
    };
    for (std::size_t m = 0; m < members; ++m) {
      for (std::size_t c = 0; c < kChannels; ++c) {
        Flow flow{.source = member(m), .destination = member(m + 1), .bytes = 64_MiB};
        flow.channel = static_cast<std::int32_t>(c);
        if (coupled) {
          flow.coupled_group = static_cast<std::int32_t>(ring * kChannels + c);
        }
        flows.push_back(flow);
      }
    }
  }
  return flows;
}

struct RingTimes {
  double route = 0.0;  // CPU seconds
  double share = 0.0;
  std::size_t solved = 0;
  Seconds last;
};

RingTimes time_once(Routes& routes, const std::vector<Flow>& flows, RoutingKind kind) {
  const double start = cpu_seconds();
  const FlowSet routed = routes.route(flows, {.kind = kind, .seed = 1});
  const double route = cpu_seconds();
  const FlowTimes times = run_flows(routes.cluster(), routed);
  return {route - start, cpu_seconds() - route, times.solved, times.last};
}

// first: with new tables, which it fills; then the fastest of five with the same, as for other seeds or sizes.
void time_rings() {
  const double t0 = cpu_seconds();
  const Cluster cluster = build_cluster("superpod-h100:su=64,front-end=no");
  const double t1 = cpu_seconds();
  const ClusterGraph graph(cluster);
  const std::vector<Flow> flows = data_parallel_rings(cluster, false);
  const std::vector<Flow> coupled = data_parallel_rings(cluster, true);
  fmt::print("Ring all-reduces of 128 data-parallel groups on {}: {} GPUs, {} flows (cluster {:.2f} s, {} MiB)\n",
             cluster.name, cluster.gpus().size(), flows.size(), t1 - t0, peak_mib());
  fmt::print("{:<10}{:<9}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}{:>8}\n", "routing", "flows", "solved", "tables ms",
             "first ms", "route ms", "share ms", "total ms", "last end ms", "MiB");
  for (const RoutingKind kind :
       {RoutingKind::kHash, RoutingKind::kAdaptive, RoutingKind::kSpray, RoutingKind::kStatic}) {
    for (const auto* set : {&flows, &coupled}) {
      const double start = cpu_seconds();
      Routes routes(cluster, graph);
      const double tables = cpu_seconds() - start;
      const RingTimes first = time_once(routes, *set, kind);
      RingTimes best = first;
      for (int again = 0; again < 5; ++again) {
        const RingTimes next = time_once(routes, *set, kind);
        best = next.route + next.share < best.route + best.share ? next : best;
      }
      fmt::print("{:<10}{:<9}{:>8}{:>10.0f}{:>10.0f}{:>10.0f}{:>10.0f}{:>10.0f}{:>12.3f}{:>8}\n", to_string(kind),
                 set == &coupled ? "coupled" : "alone", best.solved, 1e3 * tables, 1e3 * (first.route + first.share),
                 1e3 * best.route, 1e3 * best.share, 1e3 * (best.route + best.share), 1e3 * best.last.si(), peak_mib());
    }
  }
}

struct Timed {
  double cpu = 0.0;
  long mib = 0;
  std::vector<double> finish;  // s
};

struct Case {
  int per_leaf = 0;
  int leaves = 0;
  int spines = 0;
  std::string pattern;
  unsigned waves = 1;
  double latency = 1e-6;  // s, of a link
  double bytes = 64e6;
};

Timed run_ours(const Case& it) {
  const Cluster cluster = fat_tree(it.per_leaf, it.leaves, it.spines, 50_GBps, from_si<Seconds>(it.latency));
  const ClusterGraph graph(cluster);
  const std::vector<VertexId> hosts = cluster.of_kind(VertexKind::kNic);
  Timed timed;
  const double start = cpu_seconds();
  Routes routes(cluster, graph);
  double now = 0.0;
  for (unsigned wave = 0; wave < it.waves; ++wave) {
    std::vector<Flow> flows;
    for (const HostFlow& flow : flow_pattern(it.pattern, static_cast<unsigned>(hosts.size()), wave, it.bytes)) {
      // SimGrid divides a link by the latency of the flows' paths, as TCP does by round-trip times.
      const bool same_leaf = static_cast<int>(flow.from) / it.per_leaf == static_cast<int>(flow.to) / it.per_leaf;
      flows.push_back({.source = hosts[flow.from],
                       .destination = hosts[flow.to],
                       .bytes = from_si<Bytes>(std::floor(flow.bytes)),
                       .weight = same_leaf && it.latency > 0.0 ? 2.0 : 1.0});
    }
    const FlowTimes times = run_flows(cluster, routes.route(flows, {.kind = RoutingKind::kStatic}));
    for (const Seconds finish : times.finish) {
      timed.finish.push_back(now + finish.si());
    }
    now += times.last.si();
  }
  timed.cpu = cpu_seconds() - start;
  return timed;
}

// Neutral: what a link is given is what it carries, and no TCP window.
Timed run_simgrid(const std::string& program, const Case& it) {
  const std::string command = fmt::format(
      "{} {} {} {} {} {} {} {} --cfg=network/model:CM02 --cfg=network/latency-factor:1 "
      "--cfg=network/bandwidth-factor:1 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:0 "
      "--log=root.thres:error",
      program, it.per_leaf, it.leaves, it.spines, it.pattern, it.waves, it.bytes, it.latency);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(popen(command.c_str(), "r"), pclose);
  Timed timed;
  std::size_t flows = 0;
  if (!out || std::fscanf(out.get(), "%lf %ld %zu", &timed.cpu, &timed.mib, &flows) != 3) {
    throw Error("SimGrid's side didn't run", command);
  }
  timed.finish.resize(flows);
  for (double& finish : timed.finish) {
    if (std::fscanf(out.get(), "%lf", &finish) != 1) {
      throw Error("SimGrid's side ended early", command);
    }
  }
  return timed;
}

// The fastest of five runs where they are short: the first one's page faults are not the solver's.
template <class Run>
Timed fastest(const Run& run) {
  Timed best = run();
  for (int again = 0; again < 4 && best.cpu < 0.5; ++again) {
    Timed next = run();
    if (next.cpu < best.cpu) {
      best = std::move(next);
    }
  }
  return best;
}

// Returns whether the case is as near and as fast as it should be.
bool compare(const std::string& program, const Case& it) {
  const Timed ours = fastest([&] { return run_ours(it); });
  const Timed theirs = fastest([&] { return run_simgrid(program, it); });
  if (ours.finish.size() != theirs.finish.size()) {
    throw Error("SimGrid ran another number of flows", it.pattern);
  }
  double worst = 0.0;
  for (std::size_t i = 0; i < ours.finish.size(); ++i) {
    worst = std::max(worst, std::abs(ours.finish[i] / theirs.finish[i] - 1.0));
  }
  const int hosts = it.per_leaf * it.leaves;
  const double faster = theirs.cpu / std::max(ours.cpu, 1e-6);
  fmt::print("{:>6} {:<9}{:>9}{:>12.4f}{:>12.3f}{:>9.0f}x{:>13.5f} %\n", hosts, it.pattern, ours.finish.size(),
             ours.cpu, theirs.cpu, faster, 100.0 * worst);
  std::fflush(stdout);  // SimGrid takes minutes
  return worst <= 0.01 && (hosts < 4096 || faster >= 20.0);
}

// SimGrid's solver has an absolute tolerance. With paths of different latency and uneven shares (mix) its rates are off
// by up to a factor when latencies are microseconds, so those flows have none; there both agree to the last digit
// shown.
int compare_with_simgrid(const std::string& program) {
  fmt::print(
      "\nSimGrid (CM02, neutral) on the same flows: two-level fat trees\n{:>6} {:<9}{:>9}{:>12}{:>12}{:>10}{:>15}\n",
      "hosts", "pattern", "flows", "ours cpu s", "SimGrid", "faster", "worst finish");
  bool good = true;
  for (const auto& [leaves, spines] : {std::pair(32, 16), std::pair(128, 32)}) {
    for (const char* pattern : {"ring", "rail", "shift", "ragged", "a2a16"}) {
      const unsigned waves = std::string(pattern) == "shift" ? 16 : 1;
      good = compare(program, {32, leaves, spines, pattern, waves}) && good;
    }
    good = compare(program, {32, leaves, spines, leaves == 32 ? "mix4" : "mix1", 1, 0.0}) && good;
  }
  fmt::print("{}\n", good ? "all finish times within 1 %, from 4,096 hosts at least 20 times faster"
                          : "NOT all within 1 % and, from 4,096 hosts, 20 times faster");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace trainyard::simulator

int main(int argc, char** argv) {
  try {
    trainyard::simulator::time_rings();
    return argc > 1 ? trainyard::simulator::compare_with_simgrid(argv[1]) : 0;
  } catch (const trainyard::Error& error) {
    fmt::print(stderr, "fabric_bench: {}\n", error.what());
    return 2;
  }
}
