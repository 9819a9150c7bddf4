// Runs flow sets of flow_patterns.h with SimGrid (3.32, s4u) on a two-level fat tree, for fabric_bench to compare with.
// Usage: simgrid_flows HOSTS_PER_LEAF LEAVES SPINES PATTERN WAVES BYTES LATENCY_S [--cfg=...]
// Prints CPU seconds of the run without the platform, MiB at the peak, then each flow's finish in seconds.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "simulator/bench/flow_patterns.h"

namespace s4u = simgrid::s4u;

namespace {

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  if (argc != 8) {
    return std::fprintf(stderr, "see the head of the source\n"), 2;
  }
  const auto number = [&](int i) { return static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)); };
  const unsigned per_leaf = number(1);
  const unsigned leaves = number(2);
  const unsigned spines = number(3);
  const std::string pattern = argv[4];
  const unsigned waves = number(5);
  const double bytes = std::strtod(argv[6], nullptr);
  const double latency = std::strtod(argv[7], nullptr);
  constexpr double kBandwidth = 50e9;  // 400 Gbit/s
  s4u::NetZone* zone = s4u::create_fatTree_zone(
      "fat", nullptr, {2, {per_leaf, leaves}, {1, spines}, {1, 1}},
      s4u::ClusterCallbacks([](s4u::NetZone* in, const std::vector<unsigned long>&, unsigned long id) {
        s4u::Host* host = in->create_host(std::string("h").append(std::to_string(id)), 1e12);
        return std::make_pair(host->get_netpoint(), static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
      }),
      kBandwidth, latency, s4u::Link::SharingPolicy::SPLITDUPLEX);
  zone->seal();
  const unsigned hosts = per_leaf * leaves;
  std::vector<s4u::Host*> host;
  for (unsigned i = 0; i < hosts; ++i) {
    host.push_back(engine.host_by_name(std::string("h").append(std::to_string(i))));
  }
  std::vector<double> finish;
  s4u::Actor::create("driver", host[0], [&] {
    for (unsigned wave = 0; wave < waves; ++wave) {
      std::vector<s4u::CommPtr> live;
      for (const trainyard::simulator::HostFlow& flow :
           trainyard::simulator::flow_pattern(pattern, hosts, wave, bytes)) {
        live.push_back(s4u::Comm::sendto_async(host[flow.from], host[flow.to], static_cast<std::uint64_t>(flow.bytes)));
      }
      for (const s4u::CommPtr& comm : live) {
        comm->wait();
        finish.push_back(comm->get_finish_time());
      }
    }
  });
  const double before = cpu_seconds();
  engine.run();
  const double cpu = cpu_seconds() - before;
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  std::printf("%.6f %ld %zu\n", cpu, use.ru_maxrss / 1024, finish.size());
  for (const double time : finish) {
    std::printf("%.17g\n", time);
  }
}
