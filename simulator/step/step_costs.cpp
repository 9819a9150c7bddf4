#include "simulator/step/step_costs.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "simulator/compute/stack_kernels.h"
#include "simulator/throughput/layer_time.h"
#include "simulator/throughput/layout_groups.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/pipeline_time.h"

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

OverlapSlowdown slowdown_under_stack(const Group& group, double overlap) {
  switch (group.kind) {
    case GroupKind::kTensor:
    case GroupKind::kExpert:
    case GroupKind::kExpertTensor:
      return {group.size, kStandsStill, 1.0};
    case GroupKind::kData:
    case GroupKind::kShard:
    case GroupKind::kReplica:
    case GroupKind::kExpertData:
      return {group.size, 2.0 - overlap, 2.0 - overlap};
    default:
      return {group.size, 1.0, 1.0};
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

// Of updated parameters (ZeRO 1 and 2).
bool gathers_updated(const Instruction& instruction) {
  return instruction.kind == InstructionKind::kGather && instruction.bucket && !instruction.microbatch;
}

// What a plan's instructions are priced with under a stack.
class StackPricing {
 public:
  StackPricing(const Program& frame, const Plan& plan, const Machine& machine, const GroupCost& groups)
      : frame_(frame),
        model_(plan.model),
        rates_(machine_rates(machine, plan.layout.compute_type)),
        kernels_(rates_, plan.model, plan.layout),
        communications_(groups, per_node(frame, machine), habits(plan, rates_)),
        pricer_(frame, kernels_, communications_),
        gathers_after_(plan.layout.overlap_parameter_gather),
        waits_for_transfers_(waits_for_transfers(plan.layout)),
        last_chunk_(plan.layout.pipeline * plan.layout.chunks_per_stage - 1) {
    for (const Group& group : frame.groups) {
      overlap_.push_back(slowdown_under_stack(group, rates_.overlap));
    }
    const LayoutGroups shapes = layout_groups(plan.layout, machine.fabric);
    const LayerPricer layers(plan.model, plan.training.sequence, rates_, groups, plan.layout, shapes);
    std::array<bool, kKinds> known{};
    for (std::int64_t layer = 0; layer < plan.model.layers; ++layer) {
      Wait& wait = waits_[layer_kind(layer)];
      if (!std::exchange(known[layer_kind(layer)], true)) {
        const LayerTime time = layers.layer({has_experts(model_, layer), (layer_kind(layer) & 2U) != 0});
        wait = {to_nanoseconds(time.host_forward), to_nanoseconds(time.host_backward),
                to_nanoseconds(time.host_weight)};
      }
    }
  }

  Pricer& pricer() { return pricer_; }
  // What the stack makes of a role's instructions beside their own times.
  std::vector<ComputeWait> adjust(const Role& role, std::vector<Nanoseconds>& work) const {
    std::vector<ComputeWait> waits;
    for (const Instruction& instruction : role.instructions) {
      Nanoseconds& time = work[instruction.id.at()];
      if (gathered_for_weights(role, instruction)) {
        time = 0;
      } else if (gathers_after_ && gathers_updated(instruction)) {
        time = static_cast<Nanoseconds>((1.0 - rates_.overlap) * static_cast<double>(time));
      } else if (waits_for_transfers_ && instruction.communication && is_transfer(*instruction.communication)) {
        const Nanoseconds whole = is_alone(role, instruction) ? 2 * time : time;
        waits.push_back({beside(role, instruction), StepLoss::kTransfer, whole});
        time = 0;
      } else if (instruction.segment && instruction.layer) {
        waits.push_back({static_cast<std::uint32_t>(instruction.id.at()), StepLoss::kHost, wait_for_host(instruction)});
      }
    }
    std::erase_if(waits, [](const ComputeWait& wait) { return wait.time == 0; });
    for (const ComputeWait& wait : waits) {
      work[wait.instruction] += wait.time;
    }
    return waits;
  }

  const std::vector<OverlapSlowdown>& overlap() const { return overlap_; }

 private:
  static constexpr std::size_t kKinds = 4;  // of layers: experts or none, window or none

  // Of a pass of the first chunk or the last: no other transfer goes with it.
  bool is_alone(const Role& role, const Instruction& transfer) const {
    const int chunk = role.chunks.at(static_cast<std::size_t>(transfer.chunk.value_or(0)));
    return chunk == 0 || chunk == last_chunk_;
  }

  // The first instruction to compute behind a receive, the last before a send.
  static std::uint32_t beside(const Role& role, const Instruction& transfer) {
    const bool sends = transfer.kind == InstructionKind::kSend;
    std::size_t at = transfer.id.at();
    do {
      check(sends ? at > 0 : at + 1 < role.instructions.size(), "a pass computes what it sends or receives");
      at = sends ? at - 1 : at + 1;
    } while (role.instructions[at].stream != Stream::kCompute);
    return static_cast<std::uint32_t>(at);
  }

  // Of a layer's pass: where its host launches too slowly. Stands before its attention.
  Nanoseconds wait_for_host(const Instruction& instruction) const {
    const SegmentKind segment = frame_.segments[instruction.segment->at()].kind;
    const bool begins = segment == SegmentKind::kAttention || segment == SegmentKind::kQueryKeyValue;
    if (!begins) {
      return 0;
    }
    const Wait& wait = waits_[layer_kind(*instruction.layer)];
    switch (instruction.kind) {
      case InstructionKind::kBackwardInput:
        return wait.backward;
      case InstructionKind::kBackwardWeight:
        return wait.weight;
      default:
        return wait.forward;
    }
  }

  std::size_t layer_kind(std::int64_t layer) const {
    const bool window = model_.sliding_window.has_value() && !full_attention(model_, layer);
    return (has_experts(model_, layer) ? 1U : 0U) + (window ? 2U : 0U);
  }

  static std::int64_t per_node(const Program& frame, const Machine& machine) {
    return std::max<std::int64_t>(1, std::min(machine.fabric.ranks_per_node.value, frame.mesh.ranks()));
  }
  static CommunicationHabits habits(const Plan& plan, const MachineRates& rates) {
    const Layout& layout = plan.layout;
    CommunicationHabits made{rates.communication, rates.skew};
    made.tensor_exposed = layout.overlap_tensor ? 1.0 - rates.overlap : 1.0;
    made.expert_exposed = layout.overlap_expert ? 1.0 - rates.overlap : 1.0;
    made.transfer_share = transfer_share(layout, rates.sliced_transfer);
    const double slice = layout.sequence_parallel ? 1.0 : 1.0 / layout.tensor;
    made.transfer_size = rates.sliced_transfer ? slice : 0.5 * (slice + 1.0);
    made.experts_per_token = plan.model.experts ? static_cast<double>(plan.model.experts->experts_per_token) : 0.0;
    made.mirrored_pairs = layout.schedule == ScheduleKind::kDualPipe;
    return made;
  }

  struct Wait {
    Nanoseconds forward = 0;
    Nanoseconds backward = 0;
    Nanoseconds weight = 0;
  };

  const Program& frame_;
  const ModelSpec& model_;
  MachineRates rates_;
  StackKernels kernels_;
  GroupCommunication communications_;
  Pricer pricer_;
  std::vector<OverlapSlowdown> overlap_;
  std::array<Wait, kKinds> waits_;
  bool gathers_after_;  // updated parameters, behind the next step's forward
  bool waits_for_transfers_;
  int last_chunk_;
};

}  // namespace

StepCosts price_under_stack(const Program& program, const Plan& plan, const Machine& machine, const GroupCost& groups) {
  StackPricing pricing(program, plan, machine, groups);
  StepCosts costs;
  costs.overlap = pricing.overlap();
  for (const Role& role : program.roles) {
    costs.work.push_back(pricing.pricer().role(role));
    costs.waits.push_back(pricing.adjust(role, costs.work.back()));
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
    costs.waits.push_back(pricing.adjust(*role.examples, costs.work.back()));
  }
  return costs;
}

}  // namespace trainyard::simulator
