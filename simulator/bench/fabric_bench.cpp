// Times routing and max-min sharing, and compares with SimGrid where it was found.
// Usage: fabric_bench [QUICK]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "simulator/bench/bench_fabrics.h"
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
std::vector<Flow> data_parallel_rings(const Cluster& cluster, int stages, int channels, bool coupled) {
  const std::vector<VertexId> gpus = cluster.gpus();
  const int nodes = static_cast<int>(gpus.size()) / 8;
  const int members = nodes / stages;
  std::vector<Flow> flows;
  flows.reserve(gpus.size() * static_cast<std::size_t>(channels));
  for (int stage = 0; stage < stages; ++stage) {
    for (int g = 0; g < 8; ++g) {
      for (int m = 0; m < members; ++m) {
        const auto gpu = [&](int member) {
          return gpus[static_cast<std::size_t>(((member % members) * stages + stage) * 8 + g)];
        };
        for (int c = 0; c < channels; ++c) {
          Flow flow{.source = gpu(m), .destination = gpu(m + 1), .bytes = 64_MiB, .channel = c};
          if (coupled) {
            flow.coupled_group = (stage * 8 + g) * channels + c;
          }
          flows.push_back(flow);
        }
      }
    }
  }
  return flows;
}

void time_rings() {
  double t0 = cpu_seconds();
  const Cluster cluster = rail_fabric(64, 50_GBps);
  double t1 = cpu_seconds();
  const ClusterGraph graph(cluster);
  double t2 = cpu_seconds();
  fmt::print("cluster {:.0f} ms, graph {:.0f} ms, {} MiB\n", 1e3 * (t1 - t0), 1e3 * (t2 - t1), peak_mib());
  for (const bool coupled : {false, true}) {
    for (const RoutingKind kind :
         {RoutingKind::kHash, RoutingKind::kAdaptive, RoutingKind::kSpray, RoutingKind::kStatic}) {
      const std::vector<Flow> flows = data_parallel_rings(cluster, 16, 8, coupled);
      t0 = cpu_seconds();
      Routes routes(cluster, graph);
      t1 = cpu_seconds();
      const FlowSet set = routes.route(flows, {.kind = kind, .seed = 1});
      t2 = cpu_seconds();
      const FlowTimes times = run_flows(cluster, set);
      const double t3 = cpu_seconds();
      fmt::print(
          "{:9} coupled {:d}: {} flows, {} solved: tables {:.0f} ms, route {:.0f} ms, share {:.0f} ms; last {:.3f} ms; "
          "{} MiB\n",
          to_string(kind), coupled, flows.size(), times.solved, 1e3 * (t1 - t0), 1e3 * (t2 - t1), 1e3 * (t3 - t2),
          1e3 * times.last.si(), peak_mib());
    }
  }
}

}  // namespace
}  // namespace trainyard::simulator

int main() { trainyard::simulator::time_rings(); }
