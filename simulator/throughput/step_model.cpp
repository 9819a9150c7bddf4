#include "simulator/throughput/step_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/model/layer_shape.h"
#include "simulator/memory/activation_memory.h"
#include "simulator/throughput/offload_time.h"
#include "simulator/throughput/pipeline_time.h"
#include "simulator/throughput/rank_parameters.h"
#include "simulator/throughput/step_model_impl.h"

namespace trainyard::simulator {

namespace {

std::size_t at(StepLoss loss) { return static_cast<std::size_t>(loss); }

DataKey data_key(const Layout& layout, const LayoutGroups& shapes) {
  return {{shapes.data, shapes.shard, shapes.replica, shapes.expert_data},
          {layout.tensor, layout.expert, layout.expert_tensor, layout.zero_stage},
          {layout.gradient_type, layout.parameter_type, layout.communication_type},
          layout.bucket_bytes};
}

}  // namespace

StepModel::Impl::Impl(Workload given_workload, Machine given_machine, std::shared_ptr<const GroupCost> given_groups)
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

const LayerCosts& StepModel::Impl::costs_of(const Layout& layout, const LayoutGroups& shapes) {
  const auto [entry, fresh] = costs.try_emplace(key_of(layout, shapes));
  LayerCosts& found = entry->second;
  if (fresh) {
    const LayerPricer pricer(workload.model, workload.sequence, rates_of(layout.compute_type), *groups, layout, shapes);
    for (std::size_t kind = 0; kind < kLayerKinds; ++kind) {
      if (before.back().at(kind) > 0) {
        found.layer.at(kind) = pricer.layer({(kind & 1U) != 0, (kind & 2U) != 0});
        found.kept += kept_bytes(layout, kind);
      }
    }
    found.embedding = pricer.embedding();
    found.head = pricer.head();
    if (workload.model.multi_token_layers > 0) {
      found.merge = pricer.merge();
    }
    found.transfer = pricer.transfer();
  }
  return found;
}

Bytes StepModel::Impl::kept_bytes(const Layout& layout, std::size_t kind) const {
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

const DataTimes& StepModel::Impl::data_of(const Layout& layout, const LayoutGroups& shapes) {
  const DataKey key = data_key(layout, shapes);
  for (const auto& known : data) {
    if (known && known->first == key) {
      return known->second;
    }
  }
  auto& entry = data[std::exchange(data_next, (data_next + 1) % kDataKept)];
  entry.emplace(key, UpdatePricer(rates_of(layout.compute_type), *groups, layout, shapes).data(workload.model));
  return entry->second;
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
  impl_->data.fill(std::nullopt);
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
  // Of forward and of backward to inputs: the rank communicates for its layers and computes nothing.
  Seconds forward_stopped;
  Seconds input_stopped;
  Unhidden unhidden(double overlap, bool apart) const {
    const double left = 1.0 - overlap;
    const Seconds backward = passes.input + (apart ? Seconds() : passes.weight);
    const double in_backward = left * (1.0 - input_stopped / backward);
    return {left * (1.0 - forward_stopped / passes.forward), in_backward, apart ? left : in_backward};
  }
};

StepModel::Impl::Way StepModel::Impl::way(const LayerCosts& found) const {
  const ModelSpec& model = workload.model;
  const auto blocks = static_cast<double>(model.multi_token_layers);
  const KindCounts& counts = before.back();
  Way way;
  double repeated = 0.0;  // over all layers; DualPipe's chunks hold each twice
  double layers = 0.0;
  for (const Chunk& chunk : chunks) {
    const double held = std::accumulate(chunk.layers.begin(), chunk.layers.end(), 0.0);
    repeated += held * chunk.repeated;
    layers += held;
  }
  repeated = layers > 0.0 ? repeated / layers : 1.0;
  const auto add = [&](const LayerTime& time, double count, double again) {
    way.passes.add(time, count, again);
    add_scaled(way.losses, time.losses, count);
    way.losses[at(StepLoss::kRecompute)] += (again - 1.0) * count * time.again;
    way.forward_stopped += count * time.forward_stopped;
    way.input_stopped += count * (time.input_stopped + again * time.again_stopped);
  };
  for (std::size_t kind = 0; kind < kLayerKinds; ++kind) {
    add(found.layer[kind], counts[kind], repeated);
  }
  add(found.layer.at(extra_kind), blocks, repeated_block);
  add(found.merge, blocks, 1.0);
  add(found.embedding, 1.0 + blocks, 1.0);
  add(found.head, 1.0 + blocks, 1.0);
  return way;
}

// The pipeline's turns with the chunks' times.
struct StepModel::Impl::Played {
  Seconds compute;  // of the slowest stage, in all its micro-batches
  Seconds work;     // ... beside what ZeRO moves: of the stage slowest then
  Seconds waited;   // ... of that for transfers
  Seconds slowed;   // its last backwards, by gradients on their way
  Seconds end;      // of the last stage to be done with its passes
  Seconds reduced;  // ... and with its gradients
  int slowest = 0;
};

StepModel::Impl::Played StepModel::Impl::played(const Layout& layout, Seconds transfer) {
  const auto per_stage = static_cast<std::size_t>(chunks_of(layout));
  const auto stages = static_cast<std::size_t>(layout.pipeline);
  const bool halves = layout.schedule == ScheduleKind::kDualPipe && stages > 1;
  const double each = static_cast<double>(layout.accumulation) * (halves ? 0.5 : 1.0);
  Played found;
  double compute = 0.0;
  double work = 0.0;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    double own = 0.0;
    double own_work = 0.0;
    double own_scattered = 0.0;
    double own_waited = 0.0;
    double own_slowed = 0.0;
    for (std::size_t i = stage * per_stage; i < (stage + 1) * per_stage; ++i) {
      own += each * chunks[i].compute.sum();
      const Scattering& scattered = chunks[i].with_data.scattering;
      const double slowed = chunks[i].slowed;
      own_work += each * (chunks[i].with_data.sum() + slowed);
      own_scattered += each * (scattered.sum() + slowed);
      own_slowed += passes[i].last;
      own_waited += each * 2.0 * chunks[i].transfers * waited;
    }
    compute = std::max(compute, own);
    own_work = std::max(own_work, own_scattered);
    if (own_work > work) {
      work = own_work;
      found.waited = from_si<Seconds>(own_waited);
      found.slowed = from_si<Seconds>(own_slowed);
      found.slowest = static_cast<int>(stage);
    }
  }
  found.compute = from_si<Seconds>(compute);
  found.work = from_si<Seconds>(work);
  if (stages == 1) {
    found.end = found.work + from_si<Seconds>(passes.front().last);
    found.reduced = found.end + reduction_left(layout, 0);
    return found;
  }
  const PipelineShape shape{layout.schedule, layout.pipeline, layout.chunks_per_stage, layout.accumulation};
  const StageEnds& ends = play.ends(shape, passes, transfer.si());
  for (std::size_t stage = 0; stage < stages; ++stage) {
    found.end = max(found.end, from_si<Seconds>(ends[stage].passes));
    found.reduced = max(found.reduced, from_si<Seconds>(ends[stage].scattered) + reduction_left(layout, stage));
  }
  return found;
}

// The update: of the first stage's rank or the last's, whichever holds more.
void StepModel::Impl::price_update(const Layout& layout, const LayoutGroups& shapes, const LayerCosts& found,
                                   const Passes& spent, StepLosses& losses) {
  const MachineRates& machine_rates = rates_of(layout.compute_type);
  const UpdatePricer updates(machine_rates, *groups, layout, shapes);
  const auto per_stage = static_cast<std::size_t>(chunks_of(layout));
  const auto parameters_of = [&](std::size_t stage) {
    Chunk all;
    for (std::size_t i = stage * per_stage; i < (stage + 1) * per_stage; ++i) {
      for (std::size_t kind = 0; kind < kLayerKinds; ++kind) {
        all.layers[kind] += chunks[i].layers[kind];
      }
      all.layers.at(extra_kind) += chunks[i].blocks;
      all.embeds |= chunks[i].embeds;
      all.has_head |= chunks[i].has_head;
    }
    return rank_parameters(workload.model, layout, all.layers[0] + all.layers[2], all.layers[1] + all.layers[3],
                           all.embeds, all.has_head);
  };
  const RankParameters first = parameters_of(0);
  const RankParameters last = parameters_of(static_cast<std::size_t>(layout.pipeline) - 1);
  const RankParameters& most = first.dense + first.experts >= last.dense + last.experts ? first : last;
  const auto micro_batches = static_cast<double>(layout.accumulation);
  const Seconds mean = spent.sum() / layout.pipeline;
  const UpdateTime update = updates.step(most, copied_table(workload.model, layout), spent.forward / layout.pipeline);
  losses[at(StepLoss::kGradient)] += update.mirror;
  losses[at(StepLoss::kParameter)] += update.parameter;
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
  const MachineRates& rates = impl.rates_of(layout.compute_type);
  impl.deal_layers(layout);
  const Impl::Way way = impl.way(found);
  impl.unhidden = way.unhidden(rates.overlap, weights_apart(layout));
  const Seconds transfer = transfer_share(layout, rates.sliced_transfer) * found.transfer;
  const bool waits = waits_for_transfers(layout);
  impl.waited = waits ? transfer.si() : 0.0;
  impl.price_chunks(layout, found, impl.data_of(layout, shapes));
  const Impl::Played played = impl.played(layout, waits ? Seconds() : transfer);

  StepPrice price;
  price.slowest_stage = played.slowest;
  const int pp = layout.pipeline;
  const auto micro_batches = static_cast<double>(layout.accumulation);
  StepLosses& losses = price.losses;
  add_scaled(losses, way.losses, micro_batches / pp);
  losses[at(StepLoss::kImbalance)] = played.compute - micro_batches / pp * way.passes.sum();
  // What a stage makes ready while it waits for others costs nothing.
  const Seconds work = min(played.work, played.end);
  const Seconds waited = min(played.waited, work - played.compute);
  const Seconds slowed = min(played.slowed, played.end - work);
  losses[at(StepLoss::kParameter)] = work - played.compute - waited;
  losses[at(StepLoss::kGradient)] = slowed + played.reduced - played.end;
  Seconds idle = played.end - work - slowed;
  if (rates.post_validation && has_post_validation(layout)) {
    const StageTimes times{way.passes.forward, way.passes.input, way.passes.weight, played.compute / micro_batches};
    idle = post_validation_bubble(layout.schedule, times) + 2.0 * (pp - 1.0) * transfer;
  }
  const Seconds in_a_row = (waits ? 4.0 * (pp - 1.0) : transfers_in_a_row(layout)) * transfer;
  const Seconds latency = min(idle, in_a_row);
  losses[at(StepLoss::kTransfer)] = waited + latency;
  losses[at(StepLoss::kBubble)] = idle - latency;
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