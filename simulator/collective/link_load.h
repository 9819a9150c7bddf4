// LinkLoads: the bytes that cross each link, one way each, of one collective or of many.
//
//   carried(arc) = sum over flows of bytes * share of the path * weight        flow.h
//   fullest(arc) = cables * bytes on the arc's fullest cable                    equal to carried where nothing is
//   hashed busy(arc)    = fullest / bandwidth / time                                   share of the time it sends at
//   full rate
//
// A hash that puts two flows on one cable of a bundle leaves others idle: `fullest` is what the bundle would carry if
// all its cables were as full. Latencies and protocol overheads aren't in it, so that a link that holds a collective is
// at most as busy as its curve says (flow_price.h). Routed on one hash seed, the routing's own.
#pragma once

#include <vector>

#include "simulator/collective/flow_price.h"
#include "simulator/collective/flow_wire.h"

namespace trainyard::simulator {

struct LinkLoads {
  std::vector<Bytes> carried;      // by arc, host memories included
  std::vector<Bytes> fullest;      // by arc
  std::vector<std::string> notes;  // what was simplified, for people

  // Both times `factor`, arc by arc.
  void add(const LinkLoads& other, double factor);
  bool empty() const { return carried.empty(); }
  // 0 where no time is given.
  double busy(const Cluster& cluster, ArcId arc, Seconds time) const;
};

// All groups at once, each with the whole size.
LinkLoads link_loads(CollectiveFabric& fabric, std::span<const GroupLayout> groups, const WireQuestion& question,
                     Bytes size);
LinkLoads link_loads(CollectiveFabric& fabric, const CollectivePricer& pricer, FlowAlgorithm algorithm, Bytes size);

}  // namespace trainyard::simulator
