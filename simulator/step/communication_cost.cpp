#include "simulator/step/communication_cost.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "simulator/throughput/expert_time.h"

namespace trainyard::simulator {

namespace {

bool is_transfer(const Communication& communication) { return communication.peer_stage.has_value(); }

void place_on_nodes(GroupShape& shape, std::span<const Rank> members, std::int64_t per_node) {
  const auto beside = std::count_if(members.begin(), members.end(), [&](Rank member) {
    return member.value() / per_node == members.front().value() / per_node;
  });
  shape.per_node = std::max<std::int64_t>(1, beside);
  shape.concurrent = std::max<std::int64_t>(1, per_node / shape.per_node);
}

// Every rank sends to the one `stride` further; `along` such in a row.
GroupShape transfer_shape(Rank from, Rank to, std::int64_t along, std::int64_t per_node) {
  GroupShape shape;
  const std::int64_t stride = std::abs(to.value() - from.value());
  shape.count = {along, 1};
  shape.stride = {stride, along * stride};
  const bool beside = from.value() / per_node == to.value() / per_node;
  shape.per_node = beside ? std::max<std::int64_t>(2, std::min(along, per_node / stride)) : 1;
  shape.concurrent = std::max<std::int64_t>(1, per_node / shape.per_node);
  return shape;
}

}  // namespace

CollectiveOp operation_of(CommunicationKind kind) {
  switch (kind) {
    case CommunicationKind::kAllReduce:
      return CollectiveOp::kAllReduce;
    case CommunicationKind::kReduceScatter:
      return CollectiveOp::kReduceScatter;
    case CommunicationKind::kAllGather:
      return CollectiveOp::kAllGather;
    case CommunicationKind::kAllToAll:
      return CollectiveOp::kAllToAll;
    case CommunicationKind::kBroadcast:
      return CollectiveOp::kBroadcast;
    case CommunicationKind::kSend:
    case CommunicationKind::kRecv:
      return CollectiveOp::kSendRecv;
  }
  check(false, "unknown communication");
  return CollectiveOp::kSendRecv;
}

GroupShape shape_of(std::span<const Rank> members, std::int64_t ranks_per_node) {
  check(members.size() >= 2, "a group has members");
  const auto n = static_cast<std::int64_t>(members.size());
  const auto step = [&](std::int64_t i) {
    return members[static_cast<std::size_t>(i)].value() - members[static_cast<std::size_t>(i) - 1].value();
  };
  GroupShape shape;
  std::int64_t run = 1;
  while (run < n && step(run) == step(1)) {
    ++run;
  }
  shape.count = {run, n / run};
  shape.stride = {step(1), n / run > 1 ? members[static_cast<std::size_t>(run)].value() - members[0].value() : n};
  place_on_nodes(shape, members, ranks_per_node);
  return shape;
}

const GroupShape& GroupCommunication::shape(const Program& program, const Role& role,
                                            const Communication& communication) {
  const int peer = communication.peer_stage.value_or(-1);
  const Group& group = program.groups[communication.group.at()];
  const RoleId of = group.kind == GroupKind::kWorld ? RoleId(0) : role.id;  // the same ranks for all
  const auto [entry, added] = shapes_.try_emplace(Key(communication.group, of, peer));
  if (added) {
    if (is_transfer(communication)) {
      const std::vector<Rank> members = group_members(program, group, role.representative);
      entry->second = transfer_shape(role.representative, members.at(static_cast<std::size_t>(peer)), 2, per_node_);
      // Neighbours form a chain along the whole axis; a jump from its end to its start is a pair.
      const auto n = static_cast<std::int64_t>(members.size());
      const std::int64_t stride = n > 1 ? std::abs(members[1].value() - members[0].value()) : 1;
      if (entry->second.stride[0] == stride) {
        entry->second = transfer_shape(role.representative, members.at(static_cast<std::size_t>(peer)), n, per_node_);
      }
    } else {
      entry->second = shape_of_group(program, group, role);
    }
  }
  return entry->second;
}

GroupShape GroupCommunication::shape_of_group(const Program& program, const Group& group, const Role& role) const {
  const std::vector<Rank> members = group_members(program, group, role.representative);
  if (members.size() < 2) {
    return {};
  }
  GroupShape shape = shape_of(members, per_node_);
  if (habits_.mirrored_pairs && group.kind == GroupKind::kEmbedding) {
    const std::int64_t stages = program.mesh.size(Axis::kPipeline);
    const std::int64_t nearer = std::min<std::int64_t>(role.stage, stages - 1 - role.stage);
    const std::int64_t stride = shape.stride[0] / (stages - 1 - 2 * nearer);
    if (stride >= per_node_) {  // else those in the middle share a node, and others don't
      shape.stride = {stride, stages * stride};
      shape.mirrored = stages;
    }
  }
  return shape;
}

Seconds GroupCommunication::time(const Program& program, const Role& role, const Communication& communication) {
  const GroupShape& group = shape(program, role, communication);
  if (group.size() <= 1) {
    return Seconds();
  }
  const GroupKind kind = program.groups[communication.group.at()].kind;
  Bytes size = communication.extent.expected.quantity();
  if (kind == GroupKind::kExpert && group.nodes() > 1 && habits_.experts_per_token > 0.0) {
    size *= distinct_nodes_share(habits_.experts_per_token, static_cast<double>(group.nodes()));
  }
  if (kind == GroupKind::kPipeline) {
    size *= habits_.transfer_size;
  }
  const Seconds own = groups_.time(operation_of(communication.kind), size, group).time;
  switch (kind) {
    case GroupKind::kTensor:
      return (group.nodes() == 1 ? habits_.tensor_exposed : 1.0) * (habits_.factor * own + habits_.skew);
    case GroupKind::kExpert:
      return habits_.expert_exposed * (habits_.factor * own + habits_.skew);
    case GroupKind::kPipeline:
      return habits_.transfer_share * (habits_.factor * own + habits_.skew);
    case GroupKind::kExpertTensor:
    case GroupKind::kContext:
      return habits_.factor * own + habits_.skew;
    default:
      return habits_.factor * own;
  }
}

}  // namespace trainyard::simulator
