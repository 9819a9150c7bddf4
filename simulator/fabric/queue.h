// Queues: where bursts meet at a switch port faster than it drains, the buffer they need against what there is.
//
//   A = sum of what arrives for the port at once, C = its bandwidth, V = bytes of the burst through it
//   need = (A - C) V / A = V (1 - C/A)       while the senders send; less where they slow down sooner or may have only
//                                            so much in flight
//   available = a/(1 + a n) of the switch's buffer with n full ports there, a = 1: dynamic thresholds
//
// Senders send as fast as their own host and caps let them; behind a full port only what it drains arrives further on.
// Where need > available:
//   credit, PFC  the ports that feed it pause. Others' packets wait there too (head-of-line blocking): victims are
//   flows
//                that share a pausing cable without using the full port. Paused a part 1 - C/A of the time: they run
//                slower by up to A/C
//   lossy        need - available is dropped and sent again: at least lost / C more time (selective repeat; go-back-N
//                loses more)
// A deep (HBM) buffer matters where what it holds is enough and an on-chip one isn't; where even it is too small, or
// the port is a bottleneck for as long as the flows last, it only delays pausing or dropping, and adds need / C of
// delay.
//
// Sources: Choudhury and Hahne 1998, "Dynamic queue length thresholds for shared-memory packet switches"; 8 GB of HBM
// as the deep buffer to compare with and 64 MB on chip: Broadcom Jericho2, Mellanox Spectrum-3 data sheets, order of
// size only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"
#include "simulator/fabric/flow.h"

namespace trainyard::simulator {

struct QueueOptions {
  std::optional<Seconds> reaction;           // until congestion control has slowed the senders to what drains
  std::optional<Bytes> in_flight;            // at most, of a flow
  std::optional<CongestionControl> control;  // instead of the cluster's
};

enum class QueueOutcome : std::uint8_t { kAbsorbed, kPauses, kDrops, kUnknown };  // unknown: no buffer size is known
std::string_view to_string(QueueOutcome outcome);                                 // "absorbed", ...

enum class DeepBuffer : std::uint8_t { kNotNeeded, kHelps, kTooSmallToo };
std::string_view to_string(DeepBuffer deep);  // "not needed", "helps", "too small too"

struct PortQueue {
  ArcId arc;  // leaves the switch
  BytesPerSecond arrival;
  BytesPerSecond drain;
  Seconds burst;  // while more arrives than drains
  Bytes need;
  std::optional<Bytes> available;
  QueueOutcome outcome = QueueOutcome::kAbsorbed;
  DeepBuffer deep = DeepBuffer::kNotNeeded;
  Seconds delay;                 // of a packet that finds the queue at its longest
  std::size_t flows = 0;         // through the port
  std::size_t victims = 0;       // flows behind pausing cables that don't use the port
  double victim_slowdown = 1.0;  // at most
  Bytes lost;                    // and sent again
};

// Ports where more arrives than drains, the greatest need first.
std::vector<PortQueue> find_queues(const Cluster& cluster, const FlowSet& flows, const QueueOptions& options = {});

// "leaf3 -> node7/nic0: 400 GB/s arrive, 50 drain; ...", for reports.
std::string describe(const Cluster& cluster, const PortQueue& queue);

}  // namespace trainyard::simulator
