#include "simulator/step/step_waterfall.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/model/model_flops.h"
#include "simulator/throughput/attention_time.h"

namespace trainyard::simulator {

namespace {

std::size_t at(StepLoss loss) { return static_cast<std::size_t>(loss); }

StepLoss loss_of(GroupKind group, InstructionKind kind) {
  switch (group) {
    case GroupKind::kTensor:
      return StepLoss::kTensor;
    case GroupKind::kContext:
      return StepLoss::kContext;
    case GroupKind::kExpert:
    case GroupKind::kExpertTensor:
      return StepLoss::kExpert;
    case GroupKind::kPipeline:
      return StepLoss::kTransfer;
    case GroupKind::kData:
    case GroupKind::kShard:
    case GroupKind::kReplica:
    case GroupKind::kExpertData:
      return kind == InstructionKind::kGather ? StepLoss::kParameter : StepLoss::kGradient;
    case GroupKind::kEmbedding:
      return StepLoss::kGradient;
    case GroupKind::kWorld:
      return StepLoss::kOptimizer;
  }
  return StepLoss::kBubble;
}

// What the model needs of it: attention without whole tiles, and without its scores again in backward.
Flops model_flops(const Operation& operation) {
  const auto* attention = std::get_if<Attention>(&operation);
  if (attention == nullptr) {
    return flops(operation).quantity();
  }
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const double keys = real(attention->keys);
  const double kept = attention->mask == AttentionMask::kNone ? keys : kept_keys(keys, real(attention->window));
  const double forward = 2.0 * real(attention->sequences * attention->queries * attention->query_heads) * kept *
                         real(attention->head_size + attention->values());
  return from_si<Flops>(attention->pass == AttentionPass::kForward ? forward : 2.0 * forward);
}

// One role's compute, in seconds by loss: products' and attention's FLOPs at the peak as ideal, the rest as overhead.
class ComputeSplit {
 public:
  ComputeSplit(const Program& program, const KernelCost& kernels, FlopsPerSecond peak)
      : program_(program), kernels_(kernels), peak_(peak) {}

  StepLosses role(const Role& role) {
    StepLosses sum{};
    for (const Instruction& instruction : role.instructions) {
      if (instruction.communication) {
        continue;
      }
      if (instruction.segment) {
        const StepLosses& part = segment(*instruction.segment, instruction.kind, instruction.accumulate);
        for (std::size_t i = 0; i < sum.size(); ++i) {
          sum[i] += part[i];
        }
      }
      sum[at(StepLoss::kOptimizer)] += kernels_.time(instruction.operations);
    }
    return sum;
  }

 private:
  const StepLosses& segment(SegmentId id, InstructionKind kind, bool accumulate) {
    const auto [entry, added] = known_.try_emplace(std::tuple(id, kind, accumulate));
    if (!added) {
      return entry->second;
    }
    for (Operation operation : program_.segments[id.at()].operations(pass_of(kind))) {
      if (Gemm* gemm = std::get_if<Gemm>(&operation); gemm != nullptr && accumulate) {
        gemm->accumulate = true;
      }
      add(entry->second, operation, kind == InstructionKind::kRecompute);
    }
    return entry->second;
  }

  void add(StepLosses& losses, const Operation& operation, bool again) const {
    const Seconds time = kernels_.time(operation);
    if (again) {
      losses[at(StepLoss::kRecompute)] += time;
      return;
    }
    const Seconds ideal = model_flops(operation) / peak_;
    if (std::holds_alternative<Elementwise>(operation)) {
      losses[at(StepLoss::kElementwise)] += time;
    } else {
      losses[at(StepLoss::kIdeal)] += ideal;
      losses[at(std::holds_alternative<Gemm>(operation) ? StepLoss::kGemm : StepLoss::kAttention)] += time - ideal;
    }
  }

  const Program& program_;
  const KernelCost& kernels_;
  FlopsPerSecond peak_;
  std::map<std::tuple<SegmentId, InstructionKind, bool>, StepLosses> known_;
};

// A role's step as stretches of time in which the same things go on.
struct Edge {
  Nanoseconds time = 0;
  int compute = 0;  // +1, -1
  std::size_t group = 0;
  std::size_t loss = 0;
  int moving = 0;
  bool operator<(const Edge& other) const { return time < other.time; }
};

struct Exposure {
  StepLosses exposed{};  // data moves, compute doesn't
  StepLosses slowed{};   // both, by how much compute stands still
};

std::vector<Edge> edges_of(const Program& program, const Role& role, const InstructionTimes* times) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < role.instructions.size(); ++i) {
    const Instruction& instruction = role.instructions[i];
    if (instruction.communication) {
      const std::size_t group = instruction.communication->group.at();
      const std::size_t loss = at(loss_of(program.groups[group].kind, instruction.kind));
      edges.push_back({times[i].moving, 0, group, loss, 1});
      edges.push_back({times[i].end, 0, group, loss, -1});
    } else if (instruction.stream == Stream::kCompute) {
      edges.push_back({times[i].begin, 1, 0, 0, 0});
      edges.push_back({times[i].end, -1, 0, 0, 0});
    }
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

Exposure exposure(const Program& program, const Role& role, const StepCosts& costs, const InstructionTimes* times) {
  Exposure result;
  std::map<std::pair<std::size_t, std::size_t>, int> moving;  // group and loss -> how many
  int computing = 0;
  Nanoseconds since = 0;
  for (const Edge& edge : edges_of(program, role, times)) {
    const Seconds span = to_seconds(edge.time - since);
    since = edge.time;
    // Of several, the one that slows compute most.
    std::size_t worst = kStepLosses;
    double slowdown = 0.0;
    for (const auto& [what, count] : moving) {
      if (count > 0 && costs.overlap[what.first].compute > slowdown) {
        slowdown = costs.overlap[what.first].compute;
        worst = what.second;
      }
    }
    if (worst < kStepLosses) {
      (computing > 0 ? result.slowed : result.exposed)[worst] += computing > 0 ? (1.0 - 1.0 / slowdown) * span : span;
    }
    computing += edge.compute;
    if (edge.moving != 0) {
      moving[{edge.group, edge.loss}] += edge.moving;
    }
  }
  return result;
}

}  // namespace

StepWaterfall waterfall(const Program& program, const Plan& plan, const StepCosts& costs, const KernelCost& kernels,
                        FlopsPerSecond peak) {
  Execution execution(program, costs);
  execution.run();
  Nanoseconds duration = 0;
  for (const InstructionTimes& times : execution.times()) {
    duration = std::max(duration, times.end);
  }
  ComputeSplit split(program, kernels, peak);
  StepWaterfall result;
  Seconds longest;
  Flops total;
  StepLosses compute{};
  for (const Role& role : program.roles) {
    total += static_cast<double>(role.ranks) * volumes(role).flops.quantity();
    const StepLosses parts = split.role(role);
    Seconds sum;
    for (const Seconds part : parts) {
      sum += part;
    }
    if (sum > longest) {
      longest = sum;
      compute = parts;
      result.role = role.id;
    }
  }
  const double tokens = static_cast<double>(plan.training.global_batch * plan.training.sequence);
  result.hardware_per_token = total / tokens;
  const Role& role = program.roles[result.role.at()];
  const Exposure seen =
      exposure(program, role, costs, execution.times().data() + execution.table().first[result.role.at()]);

  StepLosses& losses = result.losses;
  losses = compute;
  const Seconds ideal = tokens / static_cast<double>(plan.layout.ranks()) *
                        model_flops_per_token(plan.model, plan.training.sequence, AttentionConvention::kCausal) / peak;
  losses[at(StepLoss::kImbalance)] = losses[at(StepLoss::kIdeal)] - ideal;
  losses[at(StepLoss::kIdeal)] = ideal;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] += seen.exposed[i] + seen.slowed[i];
  }
  Seconds sum;
  for (const Seconds part : losses) {
    sum += part;
  }
  losses[at(StepLoss::kBubble)] += to_seconds(duration) - sum;
  return result;
}

}  // namespace trainyard::simulator
