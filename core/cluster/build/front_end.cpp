#include "core/cluster/build/front_end.h"

#include <algorithm>

namespace trainyard::build {

namespace {

constexpr int kHostsPerPair = 32;
constexpr int kHostsPerServer = 16;
constexpr const char* kSwitch = "Spectrum-4 SN5600";

Vertex storage_server(Assembler& assembler, int index, int count) {
  Vertex server;
  server.kind = VertexKind::kStorage;
  server.name = padded("storage", index, count);
  server.type = assembler.device("storage server");
  return server;
}

}  // namespace

void add_front_end(Assembler& assembler, const std::vector<Host>& hosts, BytesPerSecond rate) {
  if (hosts.empty() || hosts.front().front_nics.empty()) {
    return;
  }
  const int count = static_cast<int>(hosts.size());
  const int pairs = ceil_divide(count, kHostsPerPair);
  const Cabling to_host{rate, {CableType::kActiveOptical, 20.0}, Network::kFrontend};
  const Cabling to_spine{rate, {CableType::kSingleMode, 50.0}, Network::kFrontend};
  std::vector<VertexId> leaves;
  for (int i = 0; i < 2 * pairs; ++i) {
    leaves.push_back(assembler.add_switch(VertexKind::kLeaf, "front/" + padded("leaf", i, 2 * pairs), kSwitch, i / 2));
  }
  for (int h = 0; h < count; ++h) {
    const Host& host = hosts[static_cast<std::size_t>(h)];
    for (std::size_t nic = 0; nic < host.front_nics.size(); ++nic) {
      const std::size_t leaf = 2 * (static_cast<std::size_t>(h) / kHostsPerPair) + nic % 2;
      assembler.connect(host.front_nics[nic], leaves[leaf], to_host);
    }
  }
  const int servers = ceil_divide(count, kHostsPerServer);
  for (int i = 0; i < servers; ++i) {
    const VertexId server = assembler.cluster().add_vertex(storage_server(assembler, i, servers));
    const std::size_t pair = 2 * static_cast<std::size_t>(i % pairs);
    assembler.connect(server, leaves[pair], to_host);
    assembler.connect(server, leaves[pair + 1], to_host);
  }
  if (pairs > 1) {
    constexpr int kSpines = 4;
    std::vector<VertexId> spines;
    for (int i = 0; i < kSpines; ++i) {
      spines.push_back(assembler.add_switch(VertexKind::kSpine, "front/" + padded("spine", i, kSpines), kSwitch));
    }
    assembler.connect_evenly(leaves, spines, kHostsPerPair / 2, to_spine);
  }
  assembler.note(
      "front end: assumed (a pair of leaves for 32 hosts, uplinks for half of their ports, a storage server for 16 "
      "hosts)");
}

}  // namespace trainyard::build
