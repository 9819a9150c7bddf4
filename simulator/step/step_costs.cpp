#include "simulator/step/step_costs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/error.h"
#include "simulator/step/instruction_pricer.h"

namespace trainyard::simulator {
namespace {

bool is_transfer(const Communication& communication) { return communication.peer_stage.has_value(); }

// By kind, algorithm, payload, and how many members share a node.
class PlacedCommunication final : public CommunicationCost {
 public:
  PlacedCommunication(const CollectiveCost& collectives, std::int64_t per_node)
      : collectives_(collectives), per_node_(per_node) {}

  Seconds time(const Program& program, const Role& role, const Communication& communication) override {
    const auto [entry, added] =
        placements_.try_emplace({communication.group, role.id, communication.peer_stage.value_or(-1)});
    if (added) {
      entry->second = is_transfer(communication) ? transfer(program, role, communication)
                                                 : placement(program, program.groups[communication.group.at()],
                                                             role.representative, per_node_);
    }
    return collectives_.time(communication.kind, communication.algorithm, communication.payload, entry->second);
  }

 private:
  GroupPlacement transfer(const Program& program, const Role& role, const Communication& communication) const {
    check(communication.peer_stage.has_value(), "a transfer must name its peer stage");
    const std::vector<Rank> members =
        group_members(program, program.groups[communication.group.at()], role.representative);
    const Rank peer = members[static_cast<std::size_t>(*communication.peer_stage)];
    const bool same_node = peer.value() / per_node_ == role.representative.value() / per_node_;
    return {2, same_node ? 2 : 1};
  }

  const CollectiveCost& collectives_;
  std::int64_t per_node_;
  std::map<std::tuple<GroupId, RoleId, int>, GroupPlacement> placements_;
};

StepCosts priced(const Program& program, const KernelCost& kernels, CommunicationCost& communications) {
  StepCosts costs;
  InstructionPricer pricer(program, kernels, communications);
  for (const Role& role : program.roles) {
    costs.work.push_back(pricer.role(role));
  }
  return costs;
}

}  // namespace

std::int64_t ranks_per_node(const DeviceProfile& profile, std::int64_t ranks) {
  if (const AnalyticProfile* analytic = profile.analytic()) {
    return std::max<std::int64_t>(1, std::min(analytic->fabric.ranks_per_node.value, ranks));
  }
  return ranks;
}

GroupPlacement placement(const Program& program, const Group& group, Rank rank, std::int64_t per_node) {
  const std::vector<Rank> members = group_members(program, group, rank);
  const auto neighbours = std::count_if(members.begin(), members.end(), [&](Rank member) {
    return member.value() / per_node == rank.value() / per_node;
  });
  return {static_cast<int>(members.size()), static_cast<int>(neighbours)};
}

StepCosts price(const Program& program, const KernelCost& kernels, const CollectiveCost& collectives,
                const DeviceProfile& profile) {
  PlacedCommunication communications(collectives, ranks_per_node(profile, program.mesh.ranks()));
  StepCosts costs = priced(program, kernels, communications);
  if (const MeasuredProfile* measured = profile.measured()) {
    const Concurrency& set = measured->at(static_cast<int>(program.mesh.ranks()));
    costs.instruction_overhead = to_nanoseconds(set.instruction_overhead);
    costs.stream_handover = to_nanoseconds(set.stream_handover);
  }
  for (const Group& group : program.groups) {
    costs.overlap.push_back(collectives.overlap(group.kind == GroupKind::kPipeline ? 2 : group.size));
  }
  return costs;
}

StepCosts price(const Program& program, const KernelCost& kernels, const GroupCost& groups,
                std::int64_t ranks_per_node) {
  GroupCommunication communications(groups, ranks_per_node);
  StepCosts costs = priced(program, kernels, communications);
  for (const Group& group : program.groups) {
    costs.overlap.push_back({group.size, 1.0, 1.0});
  }
  return costs;
}

}  // namespace trainyard::simulator
