// HostWays: how data goes between a device and a NIC of its host, kept from one set of flows to the next, as no routing
// policy changes it; and between two GPUs of a host without NVLink.
//
//   with GPUDirect RDMA     all shortest ways inside the host at once
//   without                 to a CPU, through its memory (twice: written, read) and on
//   from or to a CPU        its memory once
//   from GPU to GPU         over PCIe switches; past a CPU that doesn't pass peer traffic through its memory, twice
//
// GPUDirect is as nics_of() in core/cluster/distance.h has it, at NCCL's default limit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"
#include "simulator/fabric/flow.h"

namespace trainyard::simulator {

class Routes;

struct HostWay {
  std::span<const ArcUse> uses;  // good until the next find()
  Seconds latency;
  std::optional<VertexId> bounce;  // the CPU whose memory holds the data in between
};

class HostWays {
 public:
  // `out`: from the device to the NIC. Throws Error where the host doesn't join them.
  HostWay find(Routes& routes, VertexId device, VertexId nic, bool out);

  // Between two devices of a host, neither of them a NIC.
  HostWay between(Routes& routes, VertexId from, VertexId to);

 private:
  struct Kept {
    VertexId nic;
    std::uint32_t first = 0;  // into uses_
    std::uint32_t count = 0;  // 0: none kept yet
    Seconds latency;
    std::optional<VertexId> bounce;
  };
  HostWay through(Routes& routes, VertexId from, VertexId cpu, VertexId to);
  HostWay make(Routes& routes, VertexId device, VertexId nic, bool out);

  std::vector<Kept> kept_;  // 2 vertex + out: the NIC asked for first, which is nearly always the only one
  std::vector<ArcUse> uses_;
  std::vector<ArcUse> made_;            // by the last make()
  std::vector<char> reads_gpu_memory_;  // by device type: as a NIC does with GPUDirect RDMA
};

// Memory that a flow from or to `end` crosses once, where that is a CPU.
void add_memory_of(const Cluster& cluster, VertexId end, std::vector<ArcUse>& uses);

[[noreturn]] void throw_no_path(const Cluster& cluster, VertexId from, VertexId to, std::string_view over);

}  // namespace trainyard::simulator
