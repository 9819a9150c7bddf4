#include "simulator/throughput/step_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/model/layer_shape.h"
#include "simulator/memory/activation_memory.h"
#include "simulator/throughput/layer_time.h"
#include "simulator/throughput/layout_groups.h"
#include "simulator/throughput/offload_time.h"
#include "simulator/throughput/pipeline_time.h"
#include "simulator/throughput/rank_parameters.h"
#include "simulator/throughput/update_time.h"

namespace trainyard::simulator {

namespace {

constexpr double kTransferLeft = 0.35;  // of stage transfers, with overlap: what isn't hidden
constexpr std::size_t kKinds = 4;
constexpr std::size_t kTypes = 10;  // DataType's

using KindCounts = std::array<int, kKinds>;

std::size_t at(StepLoss loss) { return static_cast<std::size_t>(loss); }

std::size_t kind_index(LayerKind kind) { return (kind.experts ? 1U : 0U) + (kind.window ? 2U : 0U); }

LayerKind kind_of(const ModelSpec& model, std::int64_t layer) {
  return {has_experts(model, layer), model.sliding_window.has_value() && !full_attention(model, layer)};
}

// All of a layout that a layer's time depends on.
struct LayerKey {
  std::array<std::int32_t, 6> degrees{};
  std::int64_t micro_batch = 0;
  std::uint64_t switches = 0;
  std::array<std::int32_t, 10> placement{};
  friend bool operator==(const LayerKey&, const LayerKey&) = default;
};

struct LayerKeyHash {
  std::size_t operator()(const LayerKey& key) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15U;
    const auto mix = [&](std::uint64_t value) { hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U); };
    for (const std::int32_t degree : key.degrees) {
      mix(static_cast<std::uint64_t>(degree));
    }
    for (const std::int32_t place : key.placement) {
      mix(static_cast<std::uint64_t>(place));
    }
    mix(static_cast<std::uint64_t>(key.micro_batch));
    mix(key.switches);
    return hash;
  }
};

template <class T>
std::uint64_t bits(T value, unsigned shift) {
  return static_cast<std::uint64_t>(value) << shift;
}

LayerKey key_of(const Layout& layout, const LayoutGroups& shapes) {
  LayerKey key;
  key.degrees = {layout.tensor,
                 layout.context,
                 layout.expert,
                 layout.expert_tensor,
                 layout.pipeline > 1 ? layout.pipeline : 1,
                 layout.recompute_every};
  key.micro_batch = layout.micro_batch;
  key.switches = bits(layout.sequence_parallel, 0) | bits(layout.context_kind, 1) | bits(layout.recompute, 3) |
                 bits(layout.overlap_tensor, 5) | bits(layout.overlap_expert, 6) | bits(layout.compute_type, 7) |
                 bits(layout.gradient_type, 12);
  const auto place = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  key.placement = {place(shapes.tensor.per_node),
                   place(shapes.tensor.concurrent),
                   place(shapes.context.per_node),
                   place(shapes.context.concurrent),
                   place(shapes.expert.per_node),
                   place(shapes.expert.concurrent),
                   place(shapes.pipeline.per_node),
                   place(shapes.pipeline.concurrent),
                   0,
                   0};
  return key;
}

struct LayerCosts {
  std::array<LayerTime, kKinds> layer{};
  LayerTime embedding;
  LayerTime head;
  Seconds transfer;
  Bytes kept;  // activations of all layers, one micro-batch: what offload moves
};

struct Passes {
  Seconds forward;
  Seconds input;
  Seconds weight;
  Seconds sum() const { return forward + input + weight; }
  void add(const LayerTime& time, double count) {
    forward += count * time.forward;
    input += count * (time.input + time.again);
    weight += count * time.weight;
  }
};

struct Stage {
  KindCounts layers{};
  bool embeds = false;
  bool has_head = false;
  Seconds total;
};

}  // namespace

struct StepModel::Impl {
  Impl(Workload given_workload, Machine given_machine, std::shared_ptr<const GroupCost> given_groups)
      : workload(std::move(given_workload)), machine(std::move(given_machine)), groups(std::move(given_groups)) {
    const ModelSpec& model = workload.model;
    before.resize(static_cast<std::size_t>(model.layers) + 1);
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      KindCounts counts = before[static_cast<std::size_t>(layer)];
      ++counts.at(kind_index(kind_of(model, layer)));
      before[static_cast<std::size_t>(layer) + 1] = counts;
    }
    extra_kind = kind_index(kind_of(model, std::max<std::int64_t>(model.layers - 1, 0)));
  }

  Workload workload;
  Machine machine;
  std::shared_ptr<const GroupCost> groups;
  std::vector<KindCounts> before;  // [layer]: how many of each kind come before it
  std::size_t extra_kind = 0;      // of multi-token layers
  std::array<std::optional<MachineRates>, kTypes> rates;
  std::unordered_map<LayerKey, LayerCosts, LayerKeyHash> costs;
  std::vector<Stage> stages;

  const MachineRates& rates_of(DataType type) {
    std::optional<MachineRates>& entry = rates.at(static_cast<std::size_t>(type));
    if (!entry) {
      entry = machine_rates(machine, type);
    }
    return *entry;
  }

  const LayerCosts& costs_of(const Layout& layout, const LayoutGroups& shapes) {
    const auto [entry, fresh] = costs.try_emplace(key_of(layout, shapes));
    LayerCosts& found = entry->second;
    if (fresh) {
      const LayerPricer pricer(workload.model, workload.sequence, rates_of(layout.compute_type), *groups, layout,
                               shapes);
      for (std::size_t kind = 0; kind < kKinds; ++kind) {
        if (before.back().at(kind) > 0) {
          found.layer.at(kind) = pricer.layer({(kind & 1U) != 0, (kind & 2U) != 0});
          found.kept += kept_bytes(layout, kind);
        }
      }
      found.embedding = pricer.embedding();
      found.head = pricer.head();
      found.transfer = pricer.transfer();
    }
    return found;
  }

  Bytes kept_bytes(const Layout& layout, std::size_t kind) const {
    const ModelSpec& model = workload.model;
    std::int64_t layer = 0;
    while (kind_index(kind_of(model, layer)) != kind) {
      ++layer;
    }
    MemoryHabits habits;
    habits.unfused_attention = machine.stack.attention == AttentionKernel::kUnfused;
    const auto sequence = static_cast<double>(workload.sequence);
    const ActivationBytes token = activation_bytes(layer_shape(model, layer), layout, habits, sequence);
    const double tokens = static_cast<double>(layout.micro_batch) * sequence / layout.context;
    const double again = layout.recompute == Recompute::kFull ? 1.0 / layout.recompute_every : 0.0;
    return from_si<Bytes>(before.back().at(kind) * tokens * (token.all + again * (token.input - token.all)));
  }

  void deal_layers(const Layout& layout);
  void deal_chunk(const Layout& layout, int chunk, std::int64_t first, std::int64_t count);
  void price_stages(const LayerCosts& found);
  struct Way;
  Way way(const LayerCosts& found) const;
  Seconds rank_total(const Layout& layout, int stage) const;
  void price_update(const Layout& layout, const LayoutGroups& shapes, const LayerCosts& found, const Passes& passes,
                    StepLosses& losses);
};

// Adds a chunk's layers to the stage that holds it.
void StepModel::Impl::deal_chunk(const Layout& layout, int chunk, std::int64_t first, std::int64_t count) {
  const int pp = layout.pipeline;
  const bool turned = layout.schedule == ScheduleKind::kZeroBubbleV && chunk >= pp;
  const int stage = turned ? 2 * pp - 1 - chunk : chunk % pp;
  Stage& holder = stages[static_cast<std::size_t>(stage)];
  const KindCounts& low = before.at(static_cast<std::size_t>(first));
  const KindCounts& high = before.at(static_cast<std::size_t>(first + count));
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    holder.layers[kind] += high[kind] - low[kind];
  }
}

void StepModel::Impl::deal_layers(const Layout& layout) {
  const int pp = layout.pipeline;
  // DualPipe's two chunks are one of each direction: pp chunks of the model, each held twice.
  const int per_stage = layout.schedule == ScheduleKind::kDualPipe ? 1 : layout.chunks_per_stage;
  const int chunks = pp * per_stage;
  stages.assign(static_cast<std::size_t>(pp), Stage{});
  const std::int64_t layers = workload.model.layers;
  const std::int64_t even = layers / chunks;
  const std::int64_t left = layers % chunks;
  std::int64_t first = 0;
  for (int chunk = 0; chunk < chunks && first < layers; ++chunk) {
    std::int64_t count = even + (chunk >= chunks - left ? 1 : 0);
    if (!layout.chunk_layers.empty()) {
      count = layout.chunk_layers.at(static_cast<std::size_t>(chunk));
    }
    count = std::min(count, layers - first);
    deal_chunk(layout, chunk, first, count);
    first += count;
  }
  stages.front().embeds = true;
  const bool v_shaped = layout.schedule == ScheduleKind::kZeroBubbleV;
  Stage& last = v_shaped ? stages.front() : stages.back();
  last.has_head = true;
  last.layers.at(extra_kind) += static_cast<int>(workload.model.multi_token_layers);
}

void StepModel::Impl::price_stages(const LayerCosts& found) {
  const double heads = 1.0 + static_cast<double>(workload.model.multi_token_layers);
  for (Stage& stage : stages) {
    Seconds total;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      total += static_cast<double>(stage.layers[kind]) * found.layer[kind].total();
    }
    if (stage.embeds) {
      total += found.embedding.total();
    }
    if (stage.has_head) {
      total += heads * found.head.total();
    }
    stage.total = total;
  }
}

StepModel::StepModel(Workload workload, Machine machine, std::shared_ptr<const GroupCost> groups)
    : impl_(std::make_unique<Impl>(std::move(workload), std::move(machine), std::move(groups))) {
  check(impl_->groups != nullptr, "a step model prices communication by something");
}

StepModel::~StepModel() = default;

StepModel::StepModel(const StepModel& other)
    : impl_(std::make_unique<Impl>(other.impl_->workload, other.impl_->machine, other.impl_->groups)) {}

void StepModel::use_stack(const StackProfile& stack) {
  impl_->machine.stack = stack;
  impl_->rates.fill(std::nullopt);
  impl_->costs.clear();
}

const Workload& StepModel::workload() const { return impl_->workload; }
const Machine& StepModel::machine() const { return impl_->machine; }

namespace {

void add_scaled(StepLosses& losses, const StepLosses& more, double factor) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] += factor * more[i];
  }
}

}  // namespace

// Losses of one micro-batch's way through all stages, and its passes' times.
struct StepModel::Impl::Way {
  Passes passes;
  StepLosses losses{};
};

StepModel::Impl::Way StepModel::Impl::way(const LayerCosts& found) const {
  const ModelSpec& model = workload.model;
  const double heads = 1.0 + static_cast<double>(model.multi_token_layers);
  KindCounts counts = before.back();
  counts.at(extra_kind) += static_cast<int>(model.multi_token_layers);
  Way way;
  const auto add = [&](const LayerTime& time, double count) {
    way.passes.add(time, count);
    add_scaled(way.losses, time.losses, count);
  };
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    add(found.layer[kind], counts[kind]);
  }
  add(found.embedding, 1.0);
  add(found.head, heads);
  return way;
}

// DualPipe: a rank works on a stage and its mirror image, half the micro-batches each.
Seconds StepModel::Impl::rank_total(const Layout& layout, int stage) const {
  const Seconds own = stages[static_cast<std::size_t>(stage)].total;
  return layout.schedule == ScheduleKind::kDualPipe
             ? 0.5 * (own + stages[static_cast<std::size_t>(layout.pipeline - 1 - stage)].total)
             : own;
}

// Gradients and parameters: of the first stage, which ends last, and of the last, which holds the head.
void StepModel::Impl::price_update(const Layout& layout, const LayoutGroups& shapes, const LayerCosts& found,
                                   const Passes& passes, StepLosses& losses) {
  const MachineRates& machine_rates = rates_of(layout.compute_type);
  const UpdatePricer updates(machine_rates, *groups, layout, shapes);
  const auto parameters_of = [&](const Stage& stage) {
    return rank_parameters(workload.model, layout, stage.layers[0] + stage.layers[2], stage.layers[1] + stage.layers[3],
                           stage.embeds, stage.has_head);
  };
  // Of the first rank and the last; DualPipe's hold a stage and its mirror image.
  const RankParameters front = parameters_of(stages.front());
  const RankParameters back = parameters_of(stages.back());
  const RankParameters both{front.dense + back.dense, front.experts + back.experts};
  const bool mirrored = layout.schedule == ScheduleKind::kDualPipe && layout.pipeline > 1;
  const RankParameters& first = mirrored ? both : front;
  const RankParameters& last = mirrored ? both : back;
  const RankParameters& most = first.dense + first.experts >= last.dense + last.experts ? first : last;
  const auto micro_batches = static_cast<double>(layout.accumulation);
  const Seconds mean = passes.sum() / layout.pipeline;
  const Seconds forward = passes.forward / layout.pipeline;
  const UpdateTime update = updates.step(layout.overlap_gradient_reduce ? first : most, {forward, mean - forward});
  losses[at(StepLoss::kGradient)] = update.gradient;
  losses[at(StepLoss::kParameter)] = update.parameter + micro_batches * updates.sharded(most, mean);
  losses[at(StepLoss::kOptimizer)] = update.optimizer;
  losses[at(StepLoss::kOffload)] = update.offload;
  if (layout.offload.activations || layout.offload.parameters) {
    const Bytes weights = from_si<Bytes>((most.dense + most.experts) * stored_bytes(layout.parameter_type));
    losses[at(StepLoss::kOffload)] +=
        micro_batches * offload_time(layout, machine_rates, found.kept / layout.pipeline, weights, mean);
  }
}

StepPrice StepModel::price(const Layout& layout) {
  Impl& impl = *impl_;
  const LayoutGroups shapes = layout_groups(layout, impl.machine.fabric);
  const LayerCosts& found = impl.costs_of(layout, shapes);
  impl.deal_layers(layout);
  impl.price_stages(found);
  const Impl::Way way = impl.way(found);

  StepPrice price;
  const int pp = layout.pipeline;
  const auto micro_batches = static_cast<double>(layout.accumulation);
  Seconds slowest;
  for (int stage = 0; stage < pp; ++stage) {
    if (impl.rank_total(layout, stage) > slowest) {
      slowest = impl.rank_total(layout, stage);
      price.slowest_stage = stage;
    }
  }
  const MachineRates& rates = impl.rates_of(layout.compute_type);
  const StageTimes times{way.passes.forward, way.passes.input, way.passes.weight, slowest, pp, micro_batches};
  StepLosses& losses = price.losses;
  add_scaled(losses, way.losses, micro_batches / pp);
  losses[at(StepLoss::kImbalance)] = micro_batches * (slowest - times.sum() / pp);
  losses[at(StepLoss::kBubble)] = bubble_time(layout.schedule, layout.chunks_per_stage, rates.post_validation, times);
  // Megatron sends and receives at once; DeepSpeed's engine does one after the other.
  const double turns = rates.sliced_transfer ? 2.0 : 4.0;
  const Seconds pair = turns * (layout.overlap_pipeline ? kTransferLeft : 1.0) * found.transfer;
  // Under zb-h2, zb-v and dualpipe a stage has other passes to work on while its transfers are under way.
  const bool slack = layout.schedule == ScheduleKind::kZeroBubbleH2 || layout.schedule == ScheduleKind::kZeroBubbleV ||
                     layout.schedule == ScheduleKind::kDualPipe;
  losses[at(StepLoss::kTransfer)] = ((slack ? 0.0 : micro_batches * layout.chunks_per_stage) + pp - 1.0) * pair;
  impl.price_update(layout, shapes, found, way.passes, losses);

  // A user's own run sets the scale of everything.
  for (Seconds& part : losses) {
    part *= impl.machine.stack.scale;
    price.step_time += part;
  }
  const StackProfile& stack = impl.machine.stack;
  const double spread = std::exp(impl.workload.model.experts ? std::max(stack.band, stack.band_experts) : stack.band);
  price.low = price.step_time / spread;
  price.high = price.step_time * spread;
  return price;
}

}  // namespace trainyard::simulator
