#include "simulator/step/step_waterfall.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/model/model_flops.h"
#include "core/program/host_update.h"
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

bool is_beside(const Instruction& instruction) {
  return instruction.kind == InstructionKind::kOffload || updates_on_host(instruction);
}

// One role's compute, in seconds by loss: products' and attention's FLOPs at the peak as ideal, the rest as overhead.
class ComputeSplit {
 public:
  ComputeSplit(const Program& program, const KernelCost& kernels, FlopsPerSecond peak)
      : program_(program), kernels_(kernels), peak_(peak) {}

  // In the order of the instructions, so that sums don't depend on how they are kept.
  StepLosses role(const RoleOutline& role) {
    std::vector<std::vector<Part>> parts;
    for (const Instruction& example : role.examples->instructions) {
      parts.push_back(parts_of(example));
    }
    StepLosses sum{};
    for (const OutlineInstruction& instruction : role.instructions) {
      for (const auto& [loss, time] : parts[instruction.example]) {
        sum[loss] += time;
      }
    }
    return sum;
  }

 private:
  using Part = std::pair<std::size_t, Seconds>;  // of a loss, not zero

  std::vector<Part> parts_of(const Instruction& instruction) {
    std::vector<Part> parts;
    if (instruction.communication || is_beside(instruction)) {
      return parts;
    }
    if (instruction.segment) {
      const StepLosses& losses = segment(*instruction.segment, instruction.kind, instruction.accumulate);
      for (std::size_t i = 0; i < losses.size(); ++i) {
        if (losses[i].si() != 0.0) {
          parts.emplace_back(i, losses[i]);
        }
      }
    }
    if (!instruction.operations.empty()) {
      parts.emplace_back(at(StepLoss::kOptimizer), kernels_.time(instruction.operations));
    }
    return parts;
  }

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

// Groups of no communication, behind the program's: copies between host and device, which slow nothing, and the host's
// update, behind which compute stands still.
std::size_t host_copies(const Program& frame) { return frame.groups.size(); }
std::size_t host_update(const Program& frame) { return frame.groups.size() + 1; }

std::vector<OverlapSlowdown> with_host(const Program& frame, std::vector<OverlapSlowdown> overlap) {
  overlap.resize(host_update(frame) + 1);
  overlap[host_copies(frame)] = {1, 1.0, 1.0};
  overlap[host_update(frame)] = {1, std::numeric_limits<double>::infinity(), 1.0};
  return overlap;
}

std::vector<Edge> edges_of(const Program& frame, const RoleOutline& role, const std::vector<InstructionTimes>& times) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < role.instructions.size(); ++i) {
    const Instruction& instruction = role.example(i);
    if (instruction.communication) {
      const std::size_t group = instruction.communication->group.at();
      const std::size_t loss = at(loss_of(frame.groups[group].kind, instruction.kind));
      edges.push_back({times[i].moving, 0, group, loss, 1});
      edges.push_back({times[i].end, 0, group, loss, -1});
    } else if (is_beside(instruction)) {
      const std::size_t group = updates_on_host(instruction) ? host_update(frame) : host_copies(frame);
      edges.push_back({times[i].begin, 0, group, at(StepLoss::kOffload), 1});
      edges.push_back({times[i].end, 0, group, at(StepLoss::kOffload), -1});
    } else if (instruction.stream == Stream::kCompute) {
      edges.push_back({times[i].begin, 1, 0, 0, 0});
      edges.push_back({times[i].end, -1, 0, 0, 0});
    }
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

Exposure exposure(const Program& frame, const RoleOutline& role, const std::vector<OverlapSlowdown>& overlap,
                  const std::vector<InstructionTimes>& times) {
  Exposure result;
  std::map<std::pair<std::size_t, std::size_t>, int> moving;  // group and loss -> how many
  int computing = 0;
  Nanoseconds since = 0;
  for (const Edge& edge : edges_of(frame, role, times)) {
    const Seconds span = to_seconds(edge.time - since);
    since = edge.time;
    // Of several, the one that slows compute most.
    std::size_t worst = kStepLosses;
    double slowdown = 0.0;
    for (const auto& [what, count] : moving) {
      if (count > 0 && overlap[what.first].compute > slowdown) {
        slowdown = overlap[what.first].compute;
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

void add_waits(StepLosses& losses, const RoleOutline& role, const std::vector<ComputeWait>& waits) {
  std::vector<Nanoseconds> count(role.examples->instructions.size(), 0);
  for (const OutlineInstruction& instruction : role.instructions) {
    ++count[instruction.example];
  }
  std::array<Nanoseconds, kStepLosses> sum{};  // whole numbers: the same however instructions share examples
  for (const ComputeWait& wait : waits) {
    sum[at(wait.loss)] += count[wait.instruction] * wait.time;
  }
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] += to_seconds(sum[i]);
  }
}

FlopCount flops_of(const RoleOutline& role) {
  FlopCount sum;
  for (std::size_t i = 0; i < role.instructions.size(); ++i) {
    sum += role.example(i).work.flops;
  }
  return sum;
}

Seconds sum_of(const StepLosses& losses) {
  Seconds sum;
  for (const Seconds part : losses) {
    sum += part;
  }
  return sum;
}

Nanoseconds duration_of(const OutlineTimes& times) {
  Nanoseconds duration = 0;
  for (const std::vector<InstructionTimes>& role : times) {
    for (const InstructionTimes& instruction : role) {
      duration = std::max(duration, instruction.end);
    }
  }
  return duration;
}

}  // namespace

StepWaterfall waterfall(const ProgramOutline& outline, const Plan& plan, const OutlineCosts& costs,
                        const OutlineTimes& times, const KernelCost& kernels, FlopsPerSecond peak) {
  ComputeSplit split(outline.frame, kernels, peak);
  StepWaterfall result;
  Seconds longest;
  Flops total;
  StepLosses compute{};
  std::size_t shown = 0;
  for (std::size_t r = 0; r < outline.roles.size(); ++r) {
    const RoleOutline& role = outline.roles[r];
    total += static_cast<double>(role.role.ranks) * flops_of(role).quantity();
    const StepLosses parts = split.role(role);
    const Seconds sum = sum_of(parts);
    if (sum > longest) {
      longest = sum;
      compute = parts;
      shown = r;
    }
  }
  result.role = outline.roles[shown].role.id;
  const double tokens = static_cast<double>(plan.training.global_batch * plan.training.sequence);
  result.hardware_per_token = total / tokens;
  const Exposure seen =
      exposure(outline.frame, outline.roles[shown], with_host(outline.frame, costs.overlap), times[shown]);

  StepLosses& losses = result.losses;
  losses = compute;
  const Seconds ideal = tokens / static_cast<double>(plan.layout.ranks()) *
                        model_flops_per_token(plan.model, plan.training.sequence, AttentionConvention::kCausal) / peak;
  losses[at(StepLoss::kImbalance)] = losses[at(StepLoss::kIdeal)] - ideal;
  losses[at(StepLoss::kIdeal)] = ideal;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] += seen.exposed[i] + seen.slowed[i];
  }
  if (!costs.waits.empty()) {
    add_waits(losses, outline.roles[shown], costs.waits[shown]);
  }
  losses[at(StepLoss::kBubble)] += to_seconds(duration_of(times)) - sum_of(losses);
  return result;
}

StepWaterfall waterfall(const Program& program, const Plan& plan, const StepCosts& costs, const KernelCost& kernels,
                        FlopsPerSecond peak) {
  Execution execution(program, costs);
  execution.run();
  OutlineTimes times;
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    const auto first = execution.times().begin() + execution.table().first[r];
    times.emplace_back(first, first + static_cast<std::ptrdiff_t>(program.roles[r].instructions.size()));
  }
  return waterfall(outline_view(program), plan, {{}, costs.overlap, costs.waits}, times, kernels, peak);
}

}  // namespace trainyard::simulator
