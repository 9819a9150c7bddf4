// A program's instructions priced under a software stack (step_costs.h).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/error.h"
#include "simulator/compute/stack_kernels.h"
#include "simulator/step/instruction_pricer.h"
#include "simulator/step/step_costs.h"
#include "simulator/throughput/layer_time.h"
#include "simulator/throughput/layout_groups.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/pipeline_time.h"
#include "simulator/throughput/update_time.h"

namespace trainyard::simulator {

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
        pricer_(frame, kernels_, communications_, rates_.host_link),
        gathers_after_(plan.layout.overlap_parameter_gather),
        bucket_(plan.layout.bucket_bytes),
        waits_for_transfers_(waits_for_transfers(plan.layout)),
        last_chunk_(plan.layout.pipeline * plan.layout.chunks_per_stage - 1) {
    for (const Group& group : frame.groups) {
      overlap_.push_back(slowdown_under_stack(group, rates_.overlap));
    }
    const LayoutGroups shapes = layout_groups(plan.layout, machine.fabric);
    const LayerPricer layers(plan.model, plan.training.sequence, rates_, groups, plan.layout, shapes);
    std::array<std::optional<Seconds>, kKinds> forward;
    for (std::int64_t layer = 0; layer < plan.model.layers; ++layer) {
      const std::size_t kind = layer_kind(layer);
      if (!forward[kind]) {
        const LayerTime time = layers.layer({has_experts(model_, layer), (kind & 2U) != 0});
        waits_[kind] = wait_of(time);
        forward[kind] = time.forward;
      }
      forward_ += *forward[kind] / plan.layout.pipeline;
    }
    const LayerTime embedding = layers.embedding();
    const LayerTime head = layers.head();
    embedding_wait_ = wait_of(embedding);
    embedding_wait_.weight += embedding_wait_.backward;  // its only backward: no input has a gradient
    head_wait_ = wait_of(head);
    const auto blocks = static_cast<double>(plan.model.multi_token_layers);
    forward_ += (1.0 + blocks) / plan.layout.pipeline * (embedding.forward + head.forward);
    if (plan.model.multi_token_layers > 0) {
      const Seconds last = forward[layer_kind(plan.model.layers - 1)].value();
      forward_ += blocks / plan.layout.pipeline * (last + layers.merge().forward);
    }
  }

  InstructionPricer& pricer() { return pricer_; }
  // What the stack makes of a role's instructions beside their own times; counts: how many each stands for.
  std::vector<ComputeWait> adjust(const Role& role, const std::vector<std::int64_t>& counts,
                                  std::vector<Nanoseconds>& work) const {
    const double gathers_left = gathers_after_ ? share_left_of_gathers(role, counts, work) : 1.0;
    std::vector<ComputeWait> waits;
    for (const Instruction& instruction : role.instructions) {
      Nanoseconds& time = work[instruction.id.at()];
      if (gathered_for_weights(role, instruction)) {
        time = 0;
      } else if (gathers_updated(instruction)) {
        time = static_cast<Nanoseconds>(gathers_left * static_cast<double>(time));
      } else if (waits_for_transfers_ && instruction.communication && instruction.communication->peer_stage) {
        const Nanoseconds whole = is_alone(role, instruction) ? 2 * time : time;
        waits.push_back({beside(role, instruction), StepLoss::kTransfer, whole});
        time = 0;
      } else if (instruction.segment) {
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

  // Of gathers of updated parameters behind the next step's first forward.
  double share_left_of_gathers(const Role& role, const std::vector<std::int64_t>& counts,
                               const std::vector<Nanoseconds>& work) const {
    double nanoseconds = 0.0;
    double bytes = 0.0;
    for (const Instruction& instruction : role.instructions) {
      if (gathers_updated(instruction)) {
        const auto count = static_cast<double>(counts[instruction.id.at()]);
        nanoseconds += count * static_cast<double>(work[instruction.id.at()]);
        bytes += count * static_cast<double>(instruction.communication->payload.value());
      }
    }
    const Seconds spent = from_si<Seconds>(1e-9 * nanoseconds);
    return spent > Seconds() ? left_behind(spent, forward_, rates_.overlap, bytes, bucket_) / spent : 1.0;
  }

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

  struct Wait {
    Nanoseconds forward = 0;
    Nanoseconds backward = 0;
    Nanoseconds weight = 0;
  };
  static Wait wait_of(const LayerTime& time) {
    return {to_nanoseconds(time.host_forward), to_nanoseconds(time.host_backward), to_nanoseconds(time.host_weight)};
  }

  // Of a pass: where its host launches too slowly. Stands before a layer's attention, at the embedding and the head.
  Nanoseconds wait_for_host(const Instruction& instruction) const {
    const Wait* wait = wait_at(instruction);
    if (wait == nullptr) {
      return 0;
    }
    switch (instruction.kind) {
      case InstructionKind::kBackwardInput:
        return wait->backward;
      case InstructionKind::kBackwardWeight:
        return wait->weight;
      default:
        return wait->forward;
    }
  }

  const Wait* wait_at(const Instruction& instruction) const {
    switch (frame_.segments[instruction.segment->at()].kind) {
      case SegmentKind::kAttention:
      case SegmentKind::kQueryKeyValue:
        return instruction.layer ? &waits_[layer_kind(*instruction.layer)] : nullptr;
      case SegmentKind::kEmbedding:
        return &embedding_wait_;
      case SegmentKind::kHead:
        return &head_wait_;
      default:
        return nullptr;
    }
  }

  // Multi-token blocks come behind the model's layers, each with one of the last kind.
  std::size_t layer_kind(std::int64_t layer) const {
    layer = std::min(layer, model_.layers - 1);
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

  const Program& frame_;
  const ModelSpec& model_;
  MachineRates rates_;
  StackKernels kernels_;
  GroupCommunication communications_;
  InstructionPricer pricer_;
  std::vector<OverlapSlowdown> overlap_;
  std::array<Wait, kKinds> waits_;
  Wait embedding_wait_;
  Wait head_wait_;
  bool gathers_after_;  // updated parameters, behind the next step's forward
  ByteCount bucket_;
  Seconds forward_;  // of a micro-batch, the mean of the stages
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
    const std::vector<std::int64_t> once(role.instructions.size(), 1);
    costs.waits.push_back(pricing.adjust(role, once, costs.work.back()));
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
    costs.waits.push_back(pricing.adjust(*role.examples, counts_of_examples(role), costs.work.back()));
  }
  return costs;
}

}  // namespace trainyard::simulator
