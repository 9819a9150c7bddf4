#include "simulator/memory/memory_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/units/format_quantity.h"
#include "simulator/memory/activation_memory.h"
#include "simulator/memory/communicator_memory.h"
#include "simulator/memory/in_flight.h"
#include "simulator/memory/program_memory.h"

namespace trainyard::simulator {

namespace {

// Where weight gradients come later, buffers of one micro-batch are freed at three times, and holes stay: 2 to 7 % in
// the arenas of such programs (core/program/arena.h).
constexpr double kDeferredFragmentation = 0.07;
// A weight's gradient before it is added to the sum: 16-bit and on its way to fp32. Fits the peaks of Megatron-LM
// runs with large feed-forwards (SimuMax, B200).
constexpr double kWeightGradientBytes = 4.0;
// Holes that a program's arena keeps, of what comes and goes in it: by and large, 0 to 13 %; more where layers' whole
// parameters pass through it.
constexpr double kArenaFragmentation = 0.04;
constexpr double kArenaFragmentationGathering = 0.08;
constexpr double kVocabularyMultiple = 128.0;  // times tp: Megatron-LM, make-vocab-size-divisible-by
constexpr double kMasterBytes = 4.0;           // fp32 weights beside 16-bit ones (Micikevicius et al. 2017)
constexpr double kBlockStates = 5.0;           // that a multi-token block keeps besides its layer's: 2 + 1 + 2
constexpr double kLayersAtWork = 2.0;          // this one and the next, where layers come and go

double as_double(std::int64_t n) { return static_cast<double>(n); }

ByteCount bytes(double n) { return ByteCount(static_cast<std::int64_t>(std::ceil(n))); }

// Ranks that share out what ZeRO shares out.
double shards(const Layout& layout, double ranks) {
  return layout.shard_group ? std::min<double>(*layout.shard_group, ranks) : ranks;
}

// Bytes on a rank per parameter that it would hold without ZeRO.
struct ParameterBytes {
  double parameters = 0.0;
  double gradients = 0.0;
  double optimizer = 0.0;
  double sum() const { return parameters + gradients + optimizer; }
};

ParameterBytes parameter_bytes(const Layout& layout, double shard_ranks, const MemoryHabits& habits) {
  const auto shared = [&](int from_stage, double size) {
    return layout.zero_stage >= from_stage ? size / shard_ranks : size;
  };
  ParameterBytes result;
  result.parameters = shared(3, stored_bytes(layout.parameter_type));
  result.gradients = shared(2, stored_bytes(layout.gradient_type) + habits.gradient_copy_bytes);
  const double master = layout.parameter_type == DataType::kFp32 ? 0.0 : kMasterBytes;
  result.optimizer = layout.offload.optimizer ? 0.0 : shared(1, master + 2.0 * stored_bytes(layout.optimizer_type));
  return result;
}

}  // namespace

// What a layout makes of a layer, per rank.
struct MemoryModel::Costs {
  ParameterBytes dense;
  ParameterBytes expert;
  std::array<double, kMostKinds> dense_parameters{};
  std::array<double, kMostKinds> expert_parameters{};
  std::array<double, kMostKinds> kept{};      // activations of a micro-batch
  std::array<double, kMostKinds> deferred{};  // on top, between input and weight gradients
  double input = 0.0;                         // of a recomputed layer, of a micro-batch
  double largest_kept = 0.0;                  // of a layer
  double largest_layer = 0.0;                 // parameters
  double largest_weight = 0.0;
  double table = 0.0;  // parameters of the embedding or the head, without padding
  double padded = 0.0;
  double logits = 0.0;           // bytes
  double logits_deferred = 0.0;  // their gradient, until the head's weight gradient
  double multi_token_dense = 0.0;
  double multi_token_expert = 0.0;
  double multi_token_kept = 0.0;
  // Of programs:
  double wide = 0.0;       // of the flow, gone when weights' gradients begin
  double flow = 0.0;       // gradients on their way in a layer's backward
  double whole = 0.0;      // the hidden state of all tokens of a tensor-parallel group
  double gathered = 0.0;   // parameters that a layer gathers, and those of the next unit
  double scattered = 0.0;  // gradients that it has whole
};

// What a stage holds.
struct MemoryModel::Stage {
  int index = 0;
  std::array<double, kMostKinds> layers{};
  std::array<double, kMostKinds> again{};  // of them, recomputed
  int embeds = 0;
  int heads = 0;
  double in_flight = 1.0;
  double deferred = 0.0;
  HeldPasses later;  // of programs: another moment that may be worse
  int sent = 0;
  bool last_again = false;  // of a chunk that recomputes, the last layer too: backward begins with it
};

MemoryModel::Parameters MemoryModel::parameters_of(const LayerShape& layer) {
  Parameters result;
  const auto add = [&](const ProductShape& product) {
    (product.cut == TensorCut::kWhole ? result.whole : result.tensor) += as_double(product.parameters());
    if (product.cut != TensorCut::kWhole) {
      result.largest = std::max(result.largest, as_double(product.weights()));
    }
  };
  for (const ProductShape& product : layer.attention.inputs) {
    add(product);
  }
  add(layer.attention.output);
  if (layer.feed_forward) {
    add(layer.feed_forward->up);
    add(layer.feed_forward->down);
  }
  if (layer.experts) {
    add(layer.experts->router);
    result.expert = as_double(layer.experts->experts * layer.experts->expert.parameters());
    result.largest_expert = as_double(layer.experts->experts * layer.experts->expert.up.weights());
    if (layer.experts->shared) {
      add(layer.experts->shared->up);
      add(layer.experts->shared->down);
    }
  }
  const double norm = layer.normalization == Normalization::kLayer ? 2.0 : 1.0;
  result.whole += layer.norms * norm * as_double(layer.hidden) + as_double(layer.attention.norm_elements);
  result.tensor += as_double(layer.attention.sinks);
  return result;
}

MemoryModel::MemoryModel(const Workload& workload, const Machine& machine, const MemoryHabits& habits)
    : shape_(model_shape(workload.model)),
      kinds_(shape_.kinds.size()),
      sequence_(as_double(workload.sequence)),
      habits_(habits),
      available_(machine.accelerator.memory.value) {
  check(kinds_ <= kMostKinds, "a layer has experts or not, a window or not");
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    parameters_.at(kind) = parameters_of(shape_.kinds[kind]);
  }
  before_.resize(shape_.kind_of_layer.size() + 1);
  for (std::size_t layer = 0; layer < shape_.kind_of_layer.size(); ++layer) {
    before_[layer + 1] = before_[layer];
    ++before_[layer + 1].at(static_cast<std::size_t>(shape_.kind_of_layer[layer]));
  }
  if (shape_.multi_token) {
    multi_token_ = parameters_of(shape_.multi_token->layer);
    const double norm = shape_.multi_token->layer.normalization == Normalization::kLayer ? 2.0 : 1.0;
    multi_token_.tensor += as_double(shape_.multi_token->projection.parameters());
    multi_token_.whole += shape_.multi_token->norms * norm * as_double(shape_.multi_token->layer.hidden);
  }
  const double runtime = as_double(machine.accelerator.runtime_memory.value.value());
  runtime_ = std::max(0.0, runtime - kUsualCommunicators * kCommunicatorBytes);
}

MemoryModel::Costs MemoryModel::costs_of(const Layout& layout) const {
  Costs costs;
  const double tensor = layout.tensor;
  const double experts_cut = static_cast<double>(layout.expert) * layout.expert_tensor;
  const double replicas = static_cast<double>(layout.data) * layout.context;
  costs.dense = parameter_bytes(layout, shards(layout, replicas), habits_);
  const double expert_replicas = std::max(1.0, replicas * tensor / experts_cut);
  costs.expert = parameter_bytes(layout, habits_.program ? expert_replicas : shards(layout, expert_replicas), habits_);
  const double tokens = as_double(layout.micro_batch) * sequence_ / layout.context;
  const auto local = [&](const Parameters& p) { return p.tensor / tensor + p.whole; };
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    const Parameters& p = parameters_.at(kind);
    const double dense = local(p);
    const double expert = p.expert / experts_cut;
    const ActivationBytes activations = activation_bytes(shape_.kinds[kind], layout, habits_, sequence_);
    costs.dense_parameters.at(kind) = dense;
    costs.expert_parameters.at(kind) = expert;
    costs.kept.at(kind) = tokens * activations.all;
    if (habits_.program) {
      add_program_layer(costs, layout, kind, tokens);
    }
    costs.deferred.at(kind) = tokens * activations.deferred;
    costs.input = tokens * activations.input;
    costs.largest_kept = std::max(costs.largest_kept, costs.kept.at(kind));
    costs.largest_layer = std::max(costs.largest_layer, dense + expert);
    costs.largest_weight = std::max(costs.largest_weight, std::max(p.largest / tensor, p.largest_expert / experts_cut));
  }
  const double vocabulary = as_double(shape_.head.outputs);
  const double multiple = kVocabularyMultiple * tensor;
  const double padded = std::ceil(vocabulary / multiple) * multiple;
  costs.table = vocabulary * as_double(shape_.head.inputs) / tensor;
  costs.padded = (padded - vocabulary) * as_double(shape_.head.inputs) / tensor;
  costs.logits = habits_.logit_bytes * tokens * padded / tensor;
  costs.logits_deferred = activation_size(layout.compute_type) * tokens * padded / tensor;
  if (habits_.program) {
    costs.padded = 0.0;
    costs.logits = activation_size(layout.compute_type) * tokens * vocabulary / tensor;
    costs.logits_deferred = 0.0;
    costs.whole = activation_size(layout.compute_type) * tokens * as_double(shape_.head.inputs);
  }
  if (shape_.multi_token) {
    add_blocks(costs, layout);
  }
  return costs;
}

// A block's product keeps both its inputs, side by side, and the embedding; the norm before its head a hidden state and
// its own output. Its layer is run again where others are. Each block has logits of its own.
void MemoryModel::add_blocks(Costs& costs, const Layout& layout) const {
  const MultiTokenShape& block = *shape_.multi_token;
  const double blocks = as_double(block.blocks);
  const double experts_cut = static_cast<double>(layout.expert) * layout.expert_tensor;
  costs.multi_token_dense = blocks * (multi_token_.tensor / layout.tensor + multi_token_.whole);
  costs.multi_token_expert = blocks * multi_token_.expert / experts_cut;
  const auto kind = static_cast<std::size_t>(shape_.kind_of_layer.back());
  const double layer = layout.recompute == Recompute::kFull ? costs.input : costs.kept.at(kind);
  costs.multi_token_kept = blocks * (layer + kBlockStates * costs.input);
  costs.logits *= 1.0 + blocks;
}

// What a layer keeps and moves as a program; its parameters are counted.
void MemoryModel::add_program_layer(Costs& costs, const Layout& layout, std::size_t kind, double tokens) const {
  const double dense = costs.dense_parameters.at(kind);
  const double expert = costs.expert_parameters.at(kind);
  costs.kept.at(kind) += tokens * ring_block_bytes(shape_.kinds[kind], layout);
  costs.wide = std::max(costs.wide, tokens * wide_bytes(shape_.kinds[kind], layout));
  costs.flow = std::max(costs.flow, tokens * gradient_flow_bytes(shape_.kinds[kind], layout));
  const double replicas = static_cast<double>(layout.data) * layout.context;
  const bool shards_dense = shards(layout, replicas) > 1.0;
  const bool shards_expert = replicas * layout.tensor > static_cast<double>(layout.expert) * layout.expert_tensor;
  const double size = stored_bytes(layout.parameter_type);
  if (layout.zero_stage == 3) {
    costs.gathered =
        std::max(costs.gathered, 2.0 * size * ((shards_dense ? dense : 0.0) + (shards_expert ? expert : 0.0)));
  }
  if (layout.zero_stage >= 2) {
    costs.scattered = std::max(costs.scattered, stored_bytes(layout.gradient_type) *
                                                    ((shards_dense ? dense : 0.0) + (shards_expert ? expert : 0.0)));
  }
}

void MemoryModel::add_chunk(Stage& stage, const Layout& layout, std::int64_t chunk, std::int64_t chunks) const {
  const auto layers = static_cast<std::int64_t>(shape_.kind_of_layer.size());
  std::int64_t begin = chunk * layers / chunks;
  std::int64_t end = (chunk + 1) * layers / chunks;
  if (!layout.chunk_layers.empty()) {
    begin = 0;
    for (std::int64_t i = 0; i < chunk; ++i) {
      begin += layout.chunk_layers[static_cast<std::size_t>(i)];
    }
    end = begin + layout.chunk_layers[static_cast<std::size_t>(chunk)];
  }
  const auto& from = before_[static_cast<std::size_t>(begin)];
  const auto& to = before_[static_cast<std::size_t>(end)];
  const std::int64_t every = layout.recompute_every;
  const double again = layout.recompute == Recompute::kFull && end > begin
                           ? as_double((end - begin + every - 1) / every) / as_double(end - begin)
                           : 0.0;
  stage.last_again = stage.last_again || (again > 0.0 && (end - begin - 1) % every == 0);
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    const double count = to.at(kind) - from.at(kind);
    stage.layers.at(kind) += count;
    stage.again.at(kind) += count * again;
  }
  stage.embeds += chunk == 0 ? 1 : 0;
  stage.heads += chunk == chunks - 1 ? 1 : 0;
}

MemoryModel::Stage MemoryModel::stage_of(const Layout& layout, int stage) const {
  Stage result;
  result.index = stage;
  result.in_flight = micro_batches_in_flight(layout, stage);
  result.deferred = weight_gradients_deferred(layout, stage);
  if (habits_.program) {
    result.sent = sent_chunks(layout, stage);
    const std::array<HeldPasses, 2> moments = worst_moments(layout, stage);
    result.in_flight = moments[0].in_flight;
    result.deferred = moments[0].deferred;
    result.later = moments[1];
  }
  const std::int64_t p = layout.pipeline;
  const std::int64_t v = layout.chunks_per_stage;
  if (layout.schedule == ScheduleKind::kDualPipe && p > 1) {
    add_chunk(result, layout, stage, p);
    add_chunk(result, layout, p - 1 - stage, p);
    return result;
  }
  if (layout.schedule == ScheduleKind::kZeroBubbleV && p > 1) {
    add_chunk(result, layout, stage, 2 * p);
    add_chunk(result, layout, 2 * p - 1 - stage, 2 * p);
    return result;
  }
  for (std::int64_t local = 0; local < v; ++local) {
    add_chunk(result, layout, local * p + stage, p * v);
  }
  return result;
}

// What a stage's ranks hold before ZeRO shares it out, and leave for the backward.
struct MemoryModel::Held {
  double dense = 0.0;  // parameters
  double expert = 0.0;
  double kept = 0.0;      // activations of one micro-batch
  double deferred = 0.0;  // on top, of one whose weight gradients have still to run
  double at_work = 0.0;   // of the layer that is recomputed
  int tables = 0;         // embedding and head
  double heads = 0.0;     // micro-batches whose logits a program holds
};

// Of a program, beside what is kept.
struct MemoryModel::Pass {
  double flow = 0.0;
  double gathered = 0.0;
  double scattered = 0.0;
  double logits = 0.0;
  double sum() const { return flow + gathered + scattered + logits; }
};

MemoryModel::Held MemoryModel::held_by(const Layout& layout, const Costs& costs, const Stage& stage) const {
  Held held;
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    const double again = stage.again.at(kind);
    held.dense += stage.layers.at(kind) * costs.dense_parameters.at(kind);
    held.expert += stage.layers.at(kind) * costs.expert_parameters.at(kind);
    held.kept += (stage.layers.at(kind) - again) * costs.kept.at(kind) + again * costs.input;
    // A layer run again keeps what it ran until its weight gradient.
    held.deferred += stage.layers.at(kind) * costs.deferred.at(kind) + again * (costs.kept.at(kind) - costs.input);
    // A program's backward that begins with a layer that was kept has given that back by the time it recomputes one.
    if (again > 0.0 && (!habits_.program || stage.last_again || stage.deferred > 0.0)) {
      held.at_work = std::max(held.at_work, costs.kept.at(kind) - costs.input);
    }
  }
  held.kept += stage.sent * costs.input;
  const bool one_table = shape_.tied_embeddings && stage.embeds > 0 && stage.heads > 0 && layout.pipeline == 1;
  held.tables = one_table ? 1 : stage.embeds + stage.heads;
  if (shape_.multi_token && !shape_.tied_embeddings && stage.heads > 0 && stage.embeds == 0) {
    ++held.tables;  // a copy of the embedding's
  }
  held.dense += held.tables * costs.table;
  if (stage.embeds > 0) {
    held.dense += as_double(shape_.position_parameters);
  }
  if (stage.heads > 0) {
    held.dense += as_double(shape_.final_norm_parameters) + costs.multi_token_dense;
    held.expert += costs.multi_token_expert;
    held.kept += costs.multi_token_kept;
    held.deferred += costs.logits_deferred;
    if (habits_.program) {
      held.heads = heads_in_flight(layout, stage.in_flight);
    }
  }
  return held;
}

// The most that one pass of a program holds besides what is kept: in a layer, or at the head, whose logits are gone by
// the time that layers are at work unless weight gradients come later.
MemoryModel::Pass MemoryModel::pass_of(const Layout& layout, const Costs& costs, const Stage& stage,
                                       const Held& held) const {
  const bool apart = stage.deferred > 0.0;
  const double ends = held.heads * 2.0 * costs.input;
  const double logits = held.heads * costs.logits;
  double left = apart ? logits + ends : std::max(0.0, held.heads - 1.0) * (costs.logits + 2.0 * costs.input);
  if (shape_.multi_token && held.heads > 0.0 && !apart) {
    // The last block's layer is at work while the logits of the heads before it are still there.
    const double heads = 1.0 + as_double(shape_.multi_token->blocks);
    left += costs.logits * (heads - 1.0) / heads + 2.0 * costs.input;
  }
  // Whole gradients come behind the widest of the flow; where they come later, behind all of it.
  const double gone = std::min(costs.scattered, apart ? costs.flow : costs.wide);
  // Those of the layer before are on their way meanwhile.
  const Pass layer{costs.flow - gone, costs.gathered, 2.0 * costs.scattered, left};
  if (held.heads == 0.0) {
    return layer;
  }
  const bool shards_ends = shards(layout, static_cast<double>(layout.data) * layout.context) > 1.0;
  const double table = shards_ends ? costs.table : 0.0;
  const Pass head{costs.whole,
                  layout.zero_stage == 3 ? table * stored_bytes(layout.parameter_type) + costs.gathered / 2.0 : 0.0,
                  layout.zero_stage >= 2 ? table * stored_bytes(layout.gradient_type) : 0.0, logits + ends};
  return layer.sum() + held.at_work > head.sum() ? layer : head;
}

// Parameters gathered and gradients on their way, as the ZeRO stage has them.
MemoryModel::Passing MemoryModel::passing(const Layout& layout, const Costs& costs, const Held& held) const {
  const double gradient = stored_bytes(layout.gradient_type);
  const double whole = held.dense + held.expert;
  if (layout.zero_stage == 3) {
    const double element = std::min(stored_bytes(layout.parameter_type), stored_bytes(layout.communication_type));
    if (habits_.keeps_gathered && layout.pipeline > 1) {
      return {whole * (element + gradient), 0.0};
    }
    const double next = held.tables > 0 ? std::max(costs.table, costs.largest_layer) : costs.largest_layer;
    return {(costs.largest_layer + next) * element, kLayersAtWork * costs.largest_layer * gradient};
  }
  if (layout.zero_stage == 2) {
    return {0.0, std::min(whole * gradient, 2.0 * as_double(layout.bucket_bytes.value()))};
  }
  return {0.0, 0.0};
}

double MemoryModel::activations_of(const Stage& stage, const Held& held) {
  const double first = stage.in_flight * held.kept + stage.deferred * held.deferred;
  return std::max(first, stage.later.in_flight * held.kept + stage.later.deferred * held.deferred) + held.at_work;
}

MemoryPrice MemoryModel::priced(const Layout& layout, const Costs& costs, const Stage& stage) const {
  std::array<double, kMemoryUses> use{};
  const auto at = [&use](MemoryUse which) -> double& { return use.at(static_cast<std::size_t>(which)); };
  const Held held = held_by(layout, costs, stage);
  at(MemoryUse::kParameters) = held.dense * costs.dense.parameters + held.expert * costs.expert.parameters;
  if (layout.offload.parameters) {
    const double whole = std::max(held.dense + held.expert, 1.0);
    at(MemoryUse::kParameters) *= std::min(1.0, kLayersAtWork * costs.largest_layer / whole);
  }
  at(MemoryUse::kGradients) = held.dense * costs.dense.gradients + held.expert * costs.expert.gradients;
  at(MemoryUse::kOptimizer) = held.dense * costs.dense.optimizer + held.expert * costs.expert.optimizer;
  at(MemoryUse::kPadding) = held.tables * costs.padded * costs.dense.sum();
  const double activations = activations_of(stage, held);
  at(MemoryUse::kActivations) = layout.offload.activations
                                    ? std::min(activations, kLayersAtWork * costs.largest_kept + held.at_work)
                                    : activations;
  if (habits_.program) {
    const Pass pass = pass_of(layout, costs, stage, held);
    at(MemoryUse::kActivations) += pass.flow;
    at(MemoryUse::kGathered) = pass.gathered;
    at(MemoryUse::kBuckets) = pass.scattered;
    at(MemoryUse::kLogits) = pass.logits;
  } else {
    const Passing moving = passing(layout, costs, held);
    at(MemoryUse::kGathered) = moving.gathered;
    at(MemoryUse::kBuckets) = moving.buckets;
    at(MemoryUse::kLogits) = stage.heads > 0 ? costs.logits : 0.0;
    at(MemoryUse::kWorkspace) = std::max(0.0, kWeightGradientBytes * costs.largest_weight - at(MemoryUse::kLogits));
  }
  const double allocated = std::accumulate(use.begin(), use.end(), 0.0);
  at(MemoryUse::kFragmentation) =
      habits_.program
          ? (layout.zero_stage == 3 ? kArenaFragmentationGathering : kArenaFragmentation) *
                (at(MemoryUse::kActivations) + at(MemoryUse::kGathered) + at(MemoryUse::kBuckets) +
                 at(MemoryUse::kLogits))
          : (stage.deferred > 0.0 ? std::max(habits_.fragmentation, kDeferredFragmentation) : habits_.fragmentation) *
                allocated;
  at(MemoryUse::kCommunicator) = communicators(layout) * kCommunicatorBytes;
  at(MemoryUse::kWorkspace) += runtime_;
  MemoryPrice price;
  price.stage = stage.index;
  price.allocated = bytes(allocated);
  for (std::size_t i = 0; i < use.size(); ++i) {
    price.by_use.at(i) = bytes(use.at(i));
    price.total += price.by_use.at(i);
  }
  return price;
}

// What decides which stage needs most, without breaking it up.
double MemoryModel::need_of(const Layout& layout, const Costs& costs, const Stage& stage) const {
  const Held held = held_by(layout, costs, stage);
  const double weight = kWeightGradientBytes * costs.largest_weight;
  if (habits_.program) {
    return held.dense * costs.dense.sum() + held.expert * costs.expert.sum() + activations_of(stage, held) +
           pass_of(layout, costs, stage, held).sum();
  }
  return held.dense * costs.dense.sum() + held.expert * costs.expert.sum() +
         held.tables * costs.padded * costs.dense.sum() + activations_of(stage, held) +
         (stage.heads > 0 ? std::max(costs.logits, weight) : weight);
}

MemoryPrice MemoryModel::price(const Layout& layout) const {
  const Costs costs = costs_of(layout);
  Stage worst;
  double most = -1.0;
  for (int index = 0; index < layout.pipeline; ++index) {
    const Stage stage = stage_of(layout, index);
    if (const double need = need_of(layout, costs, stage); need > most) {
      most = need;
      worst = stage;
    }
  }
  return priced(layout, costs, worst);
}

std::vector<MemoryPrice> MemoryModel::stages(const Layout& layout) const {
  const Costs costs = costs_of(layout);
  std::vector<MemoryPrice> prices;
  for (int index = 0; index < layout.pipeline; ++index) {
    prices.push_back(priced(layout, costs, stage_of(layout, index)));
  }
  return prices;
}

std::optional<Infeasible> exceeds_memory(const MemoryPrice& price, const Layout& layout, ByteCount available) {
  if (price.total <= available) {
    return std::nullopt;
  }
  const auto gibibytes = [](ByteCount amount) { return as_double(amount.value()) / 0x1p30; };
  const auto largest = std::max_element(price.by_use.begin(), price.by_use.end());
  const auto cause = static_cast<MemoryUse>(largest - price.by_use.begin());
  const std::int64_t rank = price.stage * (layout.ranks() / layout.pipeline);
  return Infeasible{
      InfeasibleReason::kMemory,
      fmt::format("stage {} (rank {}) needs {:.1f} GiB of {:.1f} GiB, {} too much; most of it, {:.1f} GiB, for {}",
                  price.stage, rank, gibibytes(price.total), gibibytes(available),
                  format_quantity(price.total - available), gibibytes(*largest), to_string(cause)),
      price.total, available};
}

}  // namespace trainyard::simulator
