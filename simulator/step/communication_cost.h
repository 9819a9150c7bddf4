// CommunicationCost: a program's communication -> time, once all its members have come.
//
// Two ways. By placement: kind, algorithm, payload and how many members share a node (collective_cost.h: measured
// profiles, alpha-beta). By group: the operation, its size and the shape of its group on the machine's nodes
// (group_cost.h: curves, or flows on the cluster's graph); the algorithm is NCCL's choice then, not the program's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "core/program/program.h"
#include "simulator/collective/collective_cost.h"
#include "simulator/collective/group_cost.h"

namespace trainyard::simulator {

class CommunicationCost {
 public:
  virtual ~CommunicationCost() = default;
  virtual Seconds time(const Program& program, const Role& role, const Communication& communication) = 0;
};

CollectiveOp operation_of(CommunicationKind kind);

// How `members`, at least two in group order, lie: strides and counts (a run of equal strides, repeated), members
// beside the first on its node, and groups like it on a node. Irregular members count by size and node alone.
GroupShape shape_of(std::span<const Rank> members, std::int64_t ranks_per_node);

// What a stack makes of a collective's own time.
struct CommunicationHabits {
  double factor = 1.0;          // on what nccl-tests would measure
  Seconds skew;                 // of waiting for each other, per collective of a layer
  double tensor_exposed = 1.0;  // share of tensor-parallel time left where it runs in pieces behind products, in a node
  double expert_exposed = 1.0;  // ... of experts' exchange, behind another micro-batch
  double transfer_share = 1.0;  // of stage transfers, pipeline_time.h
  double transfer_size = 1.0;   // of a program's, where tensor-parallel ranks send a slice each
  double experts_per_token = 0.0;  // a token's copies for experts on one node cross to it once (expert_time.h)
  bool mirrored_pairs = false;     // every stage and its mirror image exchange gradients, all pairs at once (DualPipe)
};

class GroupCommunication final : public CommunicationCost {
 public:
  // groups must outlive it.
  GroupCommunication(const GroupCost& groups, std::int64_t ranks_per_node, CommunicationHabits habits = {})
      : groups_(groups), per_node_(ranks_per_node), habits_(habits) {}
  Seconds time(const Program& program, const Role& role, const Communication& communication) override;

 private:
  // By group and the role's stage and peer: roles of a stage have groups of one shape.
  using Key = std::tuple<GroupId, RoleId, int>;
  const GroupShape& shape(const Program& program, const Role& role, const Communication& communication);
  GroupShape shape_of_group(const Program& program, const Group& group, const Role& role) const;
  const GroupCost& groups_;
  std::int64_t per_node_;
  CommunicationHabits habits_;
  std::map<Key, GroupShape> shapes_;
};

}  // namespace trainyard::simulator
