#include "simulator/throughput/layer_time.h"

#include <algorithm>
#include <cmath>

#include "simulator/throughput/elementwise_time.h"
#include "simulator/throughput/pipeline_time.h"

namespace trainyard::simulator {

namespace {

constexpr double kActivationBytes = 2.0;
constexpr double kFloorPower = 4.0;
constexpr double kHostPerDoubling = 0.15;  // of tensor parallelism: more launches and waits of collectives
constexpr double kBackwardLaunches = 2.0;
constexpr double kWeightLaunches = 2.0 / 3.0;  // of those: products alone
constexpr double kTableLaunches = 0.3;         // of embedding, or final norm, head and loss: fitted with the rest
constexpr double kExpertLaunches = 4.5;        // a layer with experts launches more: routing, permutation, groups
constexpr double kVocabularyUnit = 128.0;

std::size_t at(StepLoss loss) { return static_cast<std::size_t>(loss); }

Seconds sum(const StepLosses& losses) {
  Seconds total;
  for (const Seconds part : losses) {
    total += part;
  }
  return total;
}

double real(std::int64_t value) { return static_cast<double>(value); }

// max(gpu, host), smooth.
Seconds with_floor(Seconds gpu, Seconds host) {
  if (host.si() <= 0.0 || gpu.si() <= 0.0) {
    return max(gpu, host);
  }
  const double ratio = host / gpu;
  if (ratio < 0.1) {
    return gpu;  // 0.1^4 / 4: a forty-thousandth
  }
  return gpu * std::pow(1.0 + std::pow(ratio, kFloorPower), 1.0 / kFloorPower);
}

// Attention on cp blocks around a ring, b each, h a hop. A block is on its way while the one before it is worked on.
Seconds ring_forward(int cp, Seconds b, Seconds h) { return b + (cp - 1.0) * max(b, h); }

// Blocks come round once more, the rank's own last. Behind each goes its gradient, once it is worked on: two hops a
// block, one after the other. The first block to come is on its way before; the last gradient is, beside the own block.
Seconds ring_backward(int cp, Seconds b, Seconds h) {
  if (cp == 2) {
    return b + max(b, h);
  }
  return b + (cp - 3.0) * max(b, 2.0 * h) + max(2.0 * b, max(b, h) + h);
}

}  // namespace

LayerPricer::LayerPricer(const ModelSpec& model, std::int64_t sequence, const MachineRates& rates,
                         const GroupCost& groups, const Layout& layout, const LayoutGroups& shapes)
    : model_(model),
      sequence_(real(sequence)),
      rates_(rates),
      groups_(groups),
      layout_(layout),
      shapes_(shapes),
      tokens_(real(layout.micro_batch) * real(sequence) / layout.context),
      norm_tokens_(layout.sequence_parallel ? tokens_ / layout.tensor : tokens_),
      tensor_(layout.tensor) {}

Seconds LayerPricer::collective(CollectiveOp op, double bytes, const GroupShape& group) const {
  if (group.size() <= 1) {
    return {};
  }
  return rates_.communication * groups_.time(op, from_si<Bytes>(bytes), group).time + rates_.skew;
}

void LayerPricer::add_gemm(Passes& passes, const Gemm& gemm) const {
  const GemmRate& rate = gemm.wide ? rates_.wide : rates_.linear;
  const auto time = [&](const GemmShape& shape) {
    return gemm.copies > 1.0 ? grouped_gemm_time(shape, gemm.copies, rate) : gemm_time(shape, rate);
  };
  const auto [m, n, k] = gemm.shape;
  const Seconds ideal = gemm.copies * (gemm.shape.flops() / rates_.peak);
  const auto add = [&](StepLosses& pass, Seconds spent) {
    pass[at(StepLoss::kIdeal)] += ideal;
    pass[at(StepLoss::kGemm)] += spent - ideal;
  };
  const double moved = rates_.accumulation_bytes(static_cast<double>(size_of(layout_.gradient_type)));
  const Seconds accumulate = from_si<Bytes>(moved * gemm.copies * n * k) / rates_.memory;
  add(passes.forward, time({m, n, k}));
  add(passes.input, time({m, k, n}));
  add(passes.weight, time({n, k, m}) + accumulate);
  if (!gemm.wide && rates_.cast_bytes > 0.0) {
    const double bytes = rates_.cast_bytes * gemm.copies * m;
    passes.forward[at(StepLoss::kElementwise)] += from_si<Bytes>(bytes * k) / rates_.memory;
    passes.input[at(StepLoss::kElementwise)] += from_si<Bytes>(bytes * n) / rates_.memory;
  }
}

double LayerPricer::share_kv() const { return std::max(1.0, real(model_.key_value_heads) / tensor_); }

void LayerPricer::add_attention_products(Passes& passes) const {
  const double hidden = real(model_.hidden);
  const double heads = real(model_.heads) / tensor_;
  const double key = real(model_.head_size);
  const double value = real(value_head_size(model_));
  if (model_.latent_attention) {
    const LatentAttention& latent = *model_.latent_attention;
    const double key_rank = real(latent.key_value_rank);
    if (latent.query_rank) {
      add_gemm(passes, {{norm_tokens_, real(*latent.query_rank), hidden}});
      add_gemm(passes, {{tokens_, heads * key, real(*latent.query_rank)}});
    } else {
      add_gemm(passes, {{tokens_, heads * key, hidden}});
    }
    add_gemm(passes, {{norm_tokens_, key_rank + real(latent.rope_size), hidden}});
    add_gemm(passes, {{tokens_, heads * (real(latent.no_rope_size) + value), key_rank}});
  } else {
    add_gemm(passes, {{tokens_, heads * key + share_kv() * (key + value), hidden}});
  }
  add_gemm(passes, {{tokens_, hidden, heads * value}});
}

void LayerPricer::add_attention(Passes& passes, bool window) const {
  const double seen = window && model_.sliding_window ? real(model_.sliding_window->window) : 0.0;
  AttentionShape shape;
  shape.sequences = real(layout_.micro_batch);
  shape.queries = sequence_ / layout_.context;
  shape.keys = sequence_;
  shape.kept = kept_keys(sequence_, seen);
  if (layout_.context > 1 && layout_.context_kind != ContextKind::kUlysses) {
    // The whole square of a rank's own block; of the others the keys that its queries see.
    const double block = sequence_ / layout_.context;
    shape.keys = block + shape.kept - kept_keys(block, seen);
  }
  shape.heads = real(model_.heads) / tensor_;
  shape.key_size = real(model_.head_size);
  shape.value_size = real(value_head_size(model_));
  const Seconds ideal = shape.flops() / rates_.peak;
  const Seconds forward = attention_forward_time(shape, rates_.attention);
  const Seconds backward = attention_backward_time(shape, rates_.attention);
  passes.forward[at(StepLoss::kIdeal)] += ideal;
  passes.forward[at(StepLoss::kAttention)] += forward - ideal;
  passes.input[at(StepLoss::kIdeal)] += 2.0 * ideal;
  passes.input[at(StepLoss::kAttention)] += backward - 2.0 * ideal;
  if (layout_.recompute == Recompute::kSelective && rates_.attention.kernel == AttentionKernel::kUnfused) {
    passes.again_extra += forward;
  }
  add_context(passes, forward, backward);
}

void LayerPricer::add_context(Passes& passes, Seconds forward, Seconds backward) const {
  const int cp = layout_.context;
  if (cp == 1) {
    return;
  }
  const double key = real(model_.head_size);
  const double value = real(value_head_size(model_));
  const double heads = real(model_.heads) / tensor_;
  const double kv = kActivationBytes * tokens_ * (model_.latent_attention ? heads : share_kv()) * (key + value);
  Seconds spent_forward;
  Seconds spent_backward;
  switch (layout_.context_kind) {
    case ContextKind::kRing: {
      const Seconds hop = collective(CollectiveOp::kSendRecv, kv, shapes_.context);
      spent_forward = ring_forward(cp, forward / cp, hop) - forward;
      spent_backward = ring_backward(cp, backward / cp, hop) - backward;
      break;
    }
    case ContextKind::kUlysses: {
      const double out = kActivationBytes * tokens_ * heads * value;
      const double in = kActivationBytes * tokens_ * heads * key + kv;
      spent_forward = collective(CollectiveOp::kAllToAll, in, shapes_.context) +
                      collective(CollectiveOp::kAllToAll, out, shapes_.context);
      spent_backward = spent_forward;
      break;
    }
    case ContextKind::kAllGather: {
      spent_forward = collective(CollectiveOp::kAllGather, kv * cp, shapes_.context);
      // Gathered again beside the backward of a norm and of the output projection, which need none of it.
      ElementwiseWork norm;
      norm.norm_tokens = norm_tokens_;
      norm.hidden = real(model_.hidden);
      norm.fused = rates_.fused;
      const Seconds beside = gemm_time({tokens_, heads * value, real(model_.hidden)}, rates_.linear) +
                             from_si<Bytes>(elementwise_bytes(norm)) / rates_.memory;
      spent_backward =
          max(Seconds(), spent_forward - beside) + collective(CollectiveOp::kReduceScatter, kv * cp, shapes_.context);
      break;
    }
  }
  passes.forward[at(StepLoss::kContext)] += spent_forward;
  passes.input[at(StepLoss::kContext)] += spent_backward;
  passes.forward_stopped += spent_forward;
  passes.input_stopped += spent_backward;
}

void LayerPricer::add_feed_forward(Passes& passes, double width) const {
  const double hidden = real(model_.hidden);
  const double inner = width / tensor_;
  add_gemm(passes, {{tokens_, model_.gated_feed_forward ? 2.0 * inner : inner, hidden}});
  add_gemm(passes, {{tokens_, hidden, inner}});
}

void LayerPricer::add_elementwise(Passes& passes, double feed_forward) const {
  ElementwiseWork work;
  work.tokens = tokens_;
  work.norm_tokens = norm_tokens_;
  work.hidden = model_.shared_norm ? 0.5 * real(model_.hidden) : real(model_.hidden);  // one norm of two
  work.projected = real(model_.heads) * real(model_.head_size) / tensor_ +
                   2.0 * (model_.latent_attention ? real(model_.heads) / tensor_ : share_kv()) * real(model_.head_size);
  work.feed_forward = feed_forward / tensor_;
  work.gated = model_.gated_feed_forward;
  work.fused = rates_.fused;
  const Seconds forward = from_si<Bytes>(elementwise_bytes(work)) / rates_.memory;
  passes.forward[at(StepLoss::kElementwise)] += forward;
  passes.input[at(StepLoss::kElementwise)] += 2.0 * forward;
}

// All-reduces of a pass, forward and backward: of partial outputs, and of partial gradients of inputs.
//
// Attention and feed-forward side by side have one output, the sum of both: it is reduced once (Falcon; GPT-J). Behind
// one norm they have one input too, behind norms of their own two.
LayerPricer::TensorBlocks LayerPricer::tensor_blocks() const {
  if (!model_.parallel_branches) {
    return {2.0, 2.0};
  }
  return {1.0, model_.shared_norm ? 1.0 : 2.0};
}

// Each all-reduce in two halves with sequence parallelism: inputs gathered and outputs scattered, backward the other
// way round.
void LayerPricer::add_tensor(Passes& passes, TensorBlocks blocks) const {
  if (layout_.tensor == 1) {
    return;
  }
  const double bytes = kActivationBytes * tokens_ * real(model_.hidden);
  const auto whole = [&](CollectiveOp op) { return collective(op, bytes, shapes_.tensor); };
  if (!layout_.sequence_parallel) {
    const Seconds reduce = whole(CollectiveOp::kAllReduce);
    add_tensor(passes, blocks.outputs * reduce, blocks.inputs * reduce);
    return;
  }
  const Seconds gather = whole(CollectiveOp::kAllGather);
  const Seconds scatter = whole(CollectiveOp::kReduceScatter);
  add_tensor(passes, blocks.inputs * gather + blocks.outputs * scatter,
             blocks.outputs * gather + blocks.inputs * scatter);
}

// Pieces pass between products over NVLink alone.
void LayerPricer::add_tensor(Passes& passes, Seconds forward, Seconds backward) const {
  const bool hides = layout_.overlap_tensor && shapes_.tensor.nodes() == 1;
  const double exposed = hides ? 1.0 - rates_.overlap : 1.0;
  passes.forward[at(StepLoss::kTensor)] += exposed * forward;
  passes.input[at(StepLoss::kTensor)] += exposed * backward;
  passes.forward_stopped += exposed * forward;
  passes.input_stopped += exposed * backward;
}

// The last product of a dense layer, whose result nothing in backward needs, and the reduction behind it.
Seconds LayerPricer::last_product(const Passes& passes) const {
  const GemmShape last{tokens_, real(model_.hidden), real(model_.feed_forward) / tensor_};
  const auto [outputs, inputs] = tensor_blocks();
  const double reduction = 1.0 / (layout_.sequence_parallel ? outputs + inputs : outputs);
  return gemm_time(last, rates_.linear) + reduction * passes.forward[at(StepLoss::kTensor)];
}

LayerTime LayerPricer::finished(const Passes& passes, bool repeated) const {
  const Seconds host = passes.launches * rates_.host * (1.0 + kHostPerDoubling * std::log2(std::max(1.0, tensor_)));
  LayerTime time;
  const Seconds forward = sum(passes.forward);
  const Seconds input = sum(passes.input);
  const Seconds weight = sum(passes.weight);
  time.forward_stopped = passes.forward_stopped;
  time.input_stopped = passes.input_stopped;
  time.forward = with_floor(forward, host);
  time.host_forward = time.forward - forward;
  if (weights_apart(layout_)) {
    time.host_backward = with_floor(input, (kBackwardLaunches - kWeightLaunches) * host) - input;
    time.host_weight = with_floor(weight, kWeightLaunches * host) - weight;
  } else {
    time.host_backward = with_floor(input + weight, kBackwardLaunches * host) - (input + weight);
  }
  time.input = input + time.host_backward;
  time.weight = weight + time.host_weight;
  if (repeated) {
    time.again = (time.forward - min(passes.skipped, 0.5 * time.forward)) / layout_.recompute_every;
    time.again_stopped = passes.forward_stopped / layout_.recompute_every;
  } else {
    time.again = passes.again_extra;
  }
  for (std::size_t i = 0; i < time.losses.size(); ++i) {
    time.losses[i] = passes.forward[i] + passes.input[i] + passes.weight[i];
  }
  time.losses[at(StepLoss::kHost)] += time.host_forward + time.host_backward + time.host_weight;
  time.losses[at(StepLoss::kRecompute)] += time.again;
  return time;
}

LayerTime LayerPricer::layer(LayerKind kind) const {
  Passes passes;
  add_attention_products(passes);
  add_attention(passes, kind.window);
  if (kind.experts) {
    passes.launches = kExpertLaunches;
    add_experts(passes);
  } else {
    add_feed_forward(passes, real(model_.feed_forward));
    add_elementwise(passes, real(model_.feed_forward));
    add_tensor(passes, tensor_blocks());
    passes.skipped = rates_.early_stop ? last_product(passes) : Seconds();
  }
  return finished(passes, layout_.recompute == Recompute::kFull);
}

LayerTime LayerPricer::embedding() const {
  Passes passes;
  passes.launches = kTableLaunches;
  // A row read and written; backward adds it to the table's gradient.
  const Bytes row = from_si<Bytes>(2.0 * kActivationBytes * tokens_ * real(model_.hidden));
  passes.forward[at(StepLoss::kElementwise)] += row / rates_.memory;
  passes.input[at(StepLoss::kElementwise)] += 2.0 * (row / rates_.memory);
  add_tensor(passes, {0.5, 0.5});
  return finished(passes, false);
}

LayerTime LayerPricer::head() const {
  Passes passes;
  passes.launches = kTableLaunches;
  const double unit = kVocabularyUnit * tensor_;
  const double logits = std::ceil(real(model_.vocabulary) / unit) * unit / tensor_;
  add_gemm(passes, {{tokens_, logits, real(model_.hidden)}, 1.0, 1.0, true});
  const Seconds loss = from_si<Bytes>(loss_bytes_per_logit(rates_.fused) * tokens_ * logits) / rates_.memory;
  passes.forward[at(StepLoss::kElementwise)] += loss / 3.0;
  passes.input[at(StepLoss::kElementwise)] += loss / 1.5;
  add_tensor(passes, {0.5, 0.5});
  return finished(passes, false);
}

// Norms of the hidden state and of the embedding, the product of both, and the norm before the head (DeepSeek-V3,
// section 2.2; Megatron-LM gathers the product's columns, and backward reduces the gradients of both its inputs).
LayerTime LayerPricer::merge() const {
  Passes passes;
  passes.launches = kTableLaunches;
  const double hidden = real(model_.hidden);
  add_gemm(passes, {{tokens_, hidden / tensor_, 2.0 * hidden}});
  ElementwiseWork norms;
  norms.norm_tokens = norm_tokens_;
  norms.hidden = 1.5 * hidden;  // three of a layer's two
  norms.fused = rates_.fused;
  const Seconds forward = from_si<Bytes>(elementwise_bytes(norms)) / rates_.memory;
  passes.forward[at(StepLoss::kElementwise)] += forward;
  passes.input[at(StepLoss::kElementwise)] += 2.0 * forward;
  if (layout_.tensor > 1) {
    const double bytes = kActivationBytes * tokens_ * hidden;
    const Seconds columns = collective(CollectiveOp::kAllGather, bytes, shapes_.tensor);
    if (layout_.sequence_parallel) {
      add_tensor(passes, columns + collective(CollectiveOp::kAllGather, 2.0 * bytes, shapes_.tensor),
                 columns + collective(CollectiveOp::kReduceScatter, 2.0 * bytes, shapes_.tensor));
    } else {
      add_tensor(passes, columns, collective(CollectiveOp::kAllReduce, 2.0 * bytes, shapes_.tensor));
    }
  }
  return finished(passes, false);
}

Seconds LayerPricer::transfer() const {
  if (layout_.pipeline == 1) {
    return {};
  }
  const double whole = kActivationBytes * tokens_ * real(model_.hidden);
  GroupShape pair;
  pair.count = {2, 1};
  pair.stride = shapes_.pipeline.stride;
  // The slowest hop decides: one that leaves the node, if any does.
  pair.per_node = shapes_.pipeline.per_node >= layout_.pipeline ? 2 : 1;
  pair.concurrent = shapes_.pipeline.concurrent;
  const Seconds slice = collective(CollectiveOp::kSendRecv, whole / tensor_, pair);
  if (layout_.sequence_parallel || rates_.sliced_transfer || layout_.tensor == 1) {
    return slice;
  }
  // DeepSpeed's engine slices activations between tensor-parallel ranks and sends gradients whole.
  return 0.5 * (slice + collective(CollectiveOp::kSendRecv, whole, pair));
}

}  // namespace trainyard::simulator
