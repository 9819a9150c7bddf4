// GroupCost: how long a collective of one of a layout's groups takes on a machine.
//
// A group is an axis of the mesh, or two taken together (gradients are reduced over dp and cp). All groups of the
// axis work at once, each on its own ranks: `concurrent` of them share a node's NICs.
//
// Two forms: from measured curves, by size and placement alone (curve.h), for searches; and from the cluster's graph,
// by the flows of every concurrent group (flow_price.h), for the layouts that are looked at closely.
#pragma once

#include <array>
#include <cstdint>

#include "core/units/quantity.h"
#include "simulator/collective/nccl_names.h"

namespace trainyard::simulator {

// Ranks base + i stride0 + j stride1, i < count0, j < count1.
struct GroupShape {
  std::array<std::int64_t, 2> count = {1, 1};
  std::array<std::int64_t, 2> stride = {1, 1};
  std::int64_t per_node = 1;    // members on one node, 1 .. size
  std::int64_t concurrent = 1;  // groups of this axis that have members on one node
  // Not 0: pairs of an axis of so many places stride0 apart, each place with its mirror image; all pairs at once.
  std::int64_t mirrored = 0;

  std::int64_t size() const { return count[0] * count[1]; }
  std::int64_t nodes() const { return (size() + per_node - 1) / per_node; }
  friend bool operator==(const GroupShape&, const GroupShape&) = default;
};

// Median over hash seeds, and the 80 % interval.
struct GroupTime {
  Seconds time;
  Seconds low;
  Seconds high;
};

class GroupCost {
 public:
  virtual ~GroupCost() = default;
  // size: as nccl-tests define it for the operation. A group of one takes no time. For kSendRecv every rank sends to
  // the next along the axis at once; per_node > 1 says that both ends share a node.
  virtual GroupTime time(CollectiveOp op, Bytes size, const GroupShape& group) const = 0;
};

}  // namespace trainyard::simulator
