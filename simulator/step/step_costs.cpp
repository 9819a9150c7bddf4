#include "simulator/step/step_costs.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "simulator/compute/stack_kernels.h"
#include "simulator/throughput/machine_rates.h"

namespace trainyard::simulator {
namespace {

// Fifty years, over all instructions of all roles: no sum along a step overflows.
constexpr Nanoseconds kLongest = Nanoseconds{50} * 365 * 24 * 3600 * 1'000'000'000;

Nanoseconds bounded_nanoseconds(Seconds time) { return to_nanoseconds(min(time, to_seconds(kLongest))); }

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

// Prices the instructions of one program; equal segments and, within a role, equal communications once.
class Pricer {
 public:
  Pricer(const Program& program, const KernelCost& kernels, CommunicationCost& communications)
      : program_(program), kernels_(kernels), communications_(communications) {}

  std::vector<Nanoseconds> role(const Role& role) {
    std::vector<Nanoseconds> work;
    work.reserve(role.instructions.size());
    known_.clear();
    for (const Instruction& instruction : role.instructions) {
      work.push_back(instruction.communication ? communication(role, *instruction.communication)
                                               : compute(instruction));
      add_to_total(work.back(), 1);
    }
    return work;
  }

  // Its examples stand for instructions of other stages too: groups and peers are its own.
  std::vector<Nanoseconds> outlined(const RoleOutline& outline) {
    const std::vector<Instruction>& examples = outline.examples->instructions;
    std::vector<int> peer(examples.size(), -1);
    for (const OutlineTransfer& transfer : outline.transfers) {
      peer[outline.instructions[transfer.instruction].example] = transfer.peer_stage;
    }
    std::vector<Nanoseconds> work;
    work.reserve(examples.size());
    known_.clear();
    for (std::size_t e = 0; e < examples.size(); ++e) {
      if (!examples[e].communication) {
        work.push_back(compute(examples[e]));
      } else if (peer[e] >= 0) {
        Communication own = *examples[e].communication;
        own.peer_stage = peer[e];
        work.push_back(communication(outline.role, own));
      } else {
        work.push_back(communication(outline.role, *examples[e].communication));
      }
    }
    std::vector<Nanoseconds> count(examples.size(), 0);
    for (const OutlineInstruction& instruction : outline.instructions) {
      ++count[instruction.example];
    }
    for (std::size_t e = 0; e < examples.size(); ++e) {
      add_to_total(work[e], count[e]);
    }
    return work;
  }

 private:
  void add_to_total(Nanoseconds work, Nanoseconds times) {
    const bool within = times == 0 || work < (kLongest - total_) / times;
    if (!within) {
      throw Error("a step would take more than fifty years", "the machine's profile",
                  "is one of its rates or times wrong? otherwise a smaller batch, or more ranks");
    }
    total_ += work * times;
  }

  Nanoseconds compute(const Instruction& instruction) {
    Nanoseconds time = bounded_nanoseconds(kernels_.time(instruction.operations));
    if (instruction.segment) {
      time += segment(*instruction.segment, pass_of(instruction.kind), instruction.accumulate);
    }
    return time;
  }

  Nanoseconds segment(SegmentId id, Pass pass, bool accumulate) {
    const auto [entry, added] = segments_.try_emplace(std::tuple(id, pass, accumulate), 0);
    if (added) {
      std::vector<Operation> operations = program_.segments[id.at()].operations(pass);
      for (Operation& operation : operations) {
        if (Gemm* gemm = std::get_if<Gemm>(&operation); gemm != nullptr && accumulate) {
          gemm->accumulate = true;
        }
      }
      entry->second = bounded_nanoseconds(kernels_.time(operations));
    }
    return entry->second;
  }

  Nanoseconds communication(const Role& role, const Communication& communication) {
    const auto [entry, added] = known_.try_emplace(
        std::tuple(communication.kind, communication.algorithm, communication.group, communication.payload.value(),
                   communication.extent.expected.value(), communication.peer_stage.value_or(-1)),
        0);
    if (added) {
      entry->second = bounded_nanoseconds(communications_.time(program_, role, communication));
    }
    return entry->second;
  }

  const Program& program_;
  const KernelCost& kernels_;
  CommunicationCost& communications_;
  Nanoseconds total_ = 0;
  std::map<std::tuple<SegmentId, Pass, bool>, Nanoseconds> segments_;
  // Of the role at work.
  std::map<std::tuple<CommunicationKind, CollectiveAlgorithm, GroupId, std::int64_t, std::int64_t, int>, Nanoseconds>
      known_;
};

StepCosts priced(const Program& program, const KernelCost& kernels, CommunicationCost& communications) {
  StepCosts costs;
  Pricer pricer(program, kernels, communications);
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

namespace {

// Compute beside communication that it must wait for.
constexpr double kStandsStill = 1e6;

double compute_slowdown(GroupKind kind, double overlap) {
  switch (kind) {
    case GroupKind::kTensor:
    case GroupKind::kExpert:
    case GroupKind::kExpertTensor:
      return kStandsStill;
    case GroupKind::kData:
    case GroupKind::kShard:
    case GroupKind::kReplica:
    case GroupKind::kExpertData:
      return 1.0 / std::max(overlap, 1.0 / kStandsStill);
    default:
      return 1.0;
  }
}

}  // namespace

namespace {

// Sequence parallelism gathers a norm's output once more for the weight gradient: behind the input gradient's products
// (Megatron-LM, tensor_parallel/layers.py), so that nothing waits for it.
bool gathered_for_weights(const Role& role, const Instruction& instruction) {
  if (instruction.kind != InstructionKind::kGather || instruction.writes.empty()) {
    return false;
  }
  const Buffer& buffer = role.buffers[instruction.writes.front().at()];
  return buffer.content == BufferContent::kNormed && buffer.last_use &&
         role.instructions[buffer.last_use->at()].kind == InstructionKind::kBackwardWeight;
}

}  // namespace

namespace {

// What a plan's instructions are priced with under a stack.
class StackPricing {
 public:
  StackPricing(const Program& frame, const Plan& plan, const Machine& machine, const GroupCost& groups)
      : rates_(machine_rates(machine, plan.layout.compute_type)),
        kernels_(rates_, plan.model, plan.layout.gradient_type),
        communications_(groups, per_node(frame, machine), habits(plan.layout, rates_)),
        pricer_(frame, kernels_, communications_) {
    for (const Group& group : frame.groups) {
      overlap_.push_back({group.size, compute_slowdown(group.kind, rates_.overlap), 1.0});
    }
  }

  Pricer& pricer() { return pricer_; }
  const std::vector<OverlapSlowdown>& overlap() const { return overlap_; }

 private:
  static std::int64_t per_node(const Program& frame, const Machine& machine) {
    return std::max<std::int64_t>(1, std::min(machine.fabric.ranks_per_node.value, frame.mesh.ranks()));
  }
  static CommunicationHabits habits(const Layout& layout, const MachineRates& rates) {
    CommunicationHabits made{rates.communication, rates.skew};
    made.tensor_exposed = layout.overlap_tensor ? 1.0 - rates.overlap : 1.0;
    made.expert_exposed = layout.overlap_expert ? 1.0 - rates.overlap : 1.0;
    made.mirrored_pairs = layout.schedule == ScheduleKind::kDualPipe;
    return made;
  }

  MachineRates rates_;
  StackKernels kernels_;
  GroupCommunication communications_;
  Pricer pricer_;
  std::vector<OverlapSlowdown> overlap_;
};

void free_gathers_for_weights(const Role& role, std::vector<Nanoseconds>& work) {
  for (const Instruction& instruction : role.instructions) {
    if (gathered_for_weights(role, instruction)) {
      work[instruction.id.at()] = 0;
    }
  }
}

}  // namespace

StepCosts price_under_stack(const Program& program, const Plan& plan, const Machine& machine, const GroupCost& groups) {
  StackPricing pricing(program, plan, machine, groups);
  StepCosts costs;
  costs.overlap = pricing.overlap();
  for (const Role& role : program.roles) {
    costs.work.push_back(pricing.pricer().role(role));
    free_gathers_for_weights(role, costs.work.back());
  }
  return costs;
}

OutlineCosts price_under_stack(const ProgramOutline& outline, const Plan& plan, const Machine& machine,
                               const GroupCost& groups) {
  StackPricing pricing(outline.frame, plan, machine, groups);
  OutlineCosts costs;
  costs.overlap = pricing.overlap();
  for (const RoleOutline& role : outline.roles) {
    costs.work.push_back(pricing.pricer().outlined(role));
    free_gathers_for_weights(*role.examples, costs.work.back());
  }
  return costs;
}

}  // namespace trainyard::simulator
