// CollectiveCost: how long a communication takes once all its members have come.
//
// V: payload, n: members, F(n): wire bytes of a member over V, D(n): dependent steps:
//                        ring                    direct                tree
//   reduce-scatter       F (n-1)/n   D n-1       F (n-1)/n   D 1       -
//   all-gather           F (n-1)/n   D n-1       F (n-1)/n   D 1       -
//   all-reduce           F 2(n-1)/n  D 2(n-1)    F n-1       D 1       F 2 ceil(log2 n)  D 2 ceil(log2 n)
//   broadcast            -                       F n-1       D 1       F ceil(log2 n)    D ceil(log2 n)
//   all-to-all           -                       F (n-1)/n   D 1       -
//   send                 F 1         D 1
//
// Measured profile: per kind, algorithm and group size, time against payload, piecewise linear in log-log
// (log_curve.h). A group size that was not sampled is scaled from the nearest that was, with a its smallest
// time:   t(n, V) = a D(n)/D(n0) + (t(n0, V) - a) F(n)/F(n0).
// A kind that was not sampled is D sends of V F / D bytes.
//
// Analytic profile: two levels, alpha-beta. L members share a node, N = n/L nodes; a node level of bandwidth
// B1 e1 and step latency a1, a network level of B2 e2 (one rank's NIC share) and a2; H per collective.
// Reduce-scatter and all-gather are
//   T(V) = H + [L > 1] ( (L-1)/L V / (B1 e1) + (L-1) a1 ) + [N > 1] ( (N-1)/N (V/L) / (B2 e2) + (N-1) a2 )
// and ring all-reduce is two of them without the second H:  for N = 1, 2 (n-1)/n V/(B1 e1) + 2 (n-1) a1 + H.
// Trees and sends pay, per dependent step, the latency and the wire bytes of the outermost level crossed.
// Ring latency grows linearly with N; NCCL's trees, SHARP and NVLink SHARP are not modelled. Links are
// not shared with other groups: a NIC's share is already one rank's.
#pragma once

#include <memory>

#include "core/plan/device_profile.h"
#include "core/program/communication.h"
#include "core/units/quantity.h"

namespace trainyard::simulator {

// How a group lies over nodes.
struct GroupPlacement {
  int size = 1;
  int per_node = 1;  // members that share a node, 1..size
};

// F and D above. Of one member; n >= 1, zero for n = 1.
double wire_factor(CommunicationKind kind, CollectiveAlgorithm algorithm, int members);
double dependent_steps(CommunicationKind kind, CollectiveAlgorithm algorithm, int members);

class CollectiveCost {
 public:
  virtual ~CollectiveCost() = default;
  // kSend and kRecv: one transfer, whatever the group's size; per_node > 1 says both ends share a node.
  virtual Seconds time(CommunicationKind kind, CollectiveAlgorithm algorithm, ByteCount payload,
                       GroupPlacement placement) const = 0;
  // While a rank computes and takes part in a communication of this many members. Factors >= 1.
  virtual OverlapSlowdown overlap(int group_size) const = 0;
};

// time() throws Error where the profile holds no sample to go by.
std::unique_ptr<const CollectiveCost> collective_cost(const DeviceProfile& profile, std::int64_t ranks_at_once);

}  // namespace trainyard::simulator
