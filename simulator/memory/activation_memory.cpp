#include "simulator/memory/activation_memory.h"

namespace trainyard::simulator {

namespace {

constexpr double kScoreBytes = 5.0;
constexpr double kStatisticBytes = 4.0;  // of a row of scores, for flash's backward
constexpr double kRouterBytes = 8.0;     // logits and probabilities, fp32

double as_double(std::int64_t n) { return static_cast<double>(n); }

struct Sizes {
  double activation;
  double input;
  double tensor;  // degree
  double norms;   // ranks that share the tokens of norms
};

// Latent attention's products that every rank has whole give latents, which a norm reads and a product takes.
double attention_bytes(const AttentionShape& attention, const Sizes& sizes, const MemoryHabits& habits,
                       bool scores_again, double sequence) {
  double bytes = 0.0;
  for (const ProductShape& product : attention.inputs) {
    bytes += product.cut == TensorCut::kWhole
                 ? (sizes.activation + sizes.input) * as_double(product.outputs) / sizes.norms
                 : sizes.activation * as_double(product.outputs) / sizes.tensor;
  }
  if (attention.inputs.size() > 1) {  // queries and keys put together from their parts
    bytes += 2.0 * sizes.activation * as_double(attention.query_elements()) / sizes.tensor;
  }
  bytes += sizes.activation * as_double(attention.output_elements()) / sizes.tensor;
  const double heads = as_double(attention.heads) / sizes.tensor;
  bytes += heads * (habits.unfused_attention ? (scores_again ? 0.0 : kScoreBytes * sequence) : kStatisticBytes);
  return bytes;
}

double feed_forward_bytes(const FeedForwardShape& shape, const Sizes& sizes, double cut) {
  const double up = as_double(shape.gated ? 2 * shape.width : shape.width);
  return (sizes.activation * up + sizes.input * as_double(shape.width)) / cut;
}

// As the project's programs keep them: all that the input products make, attention's output and rows' statistics.
double program_attention_bytes(const AttentionShape& attention, const Sizes& sizes) {
  double elements = as_double(attention.output_elements()) / sizes.tensor;
  for (const ProductShape& product : attention.inputs) {
    elements += as_double(product.outputs) / (product.cut == TensorCut::kWhole ? 1.0 : sizes.tensor);
  }
  return sizes.activation * elements + kStatisticBytes * as_double(attention.heads) / sizes.tensor;
}

// Routing, tokens at the experts of the expert-tensor group, and their outputs back, whoever computes them.
double program_experts_bytes(const ExpertsShape& experts, std::int64_t hidden, const Layout& layout,
                             const Sizes& sizes) {
  const double each = as_double(experts.experts_per_token) / sizes.norms;
  const double wide = as_double((experts.expert.gated ? 3 : 2) * experts.expert.width);
  const double bytes = sizes.activation * each * (1.0 + (layout.expert_tensor + 1.0) * as_double(hidden) + wide);
  return bytes + (experts.shared ? feed_forward_bytes(*experts.shared, sizes, sizes.tensor) : 0.0);
}

// That an expert-tensor group works on, per token of a tensor-parallel group.
double expert_tokens(const ExpertsShape& experts, const Layout& layout) {
  const double imbalance = experts.capacity_factor ? *experts.capacity_factor : experts.imbalance;
  return as_double(experts.experts_per_token) * imbalance * layout.expert_tensor / layout.tensor;
}

double experts_bytes(const ExpertsShape& experts, std::int64_t hidden, const Layout& layout, const Sizes& sizes) {
  const double tokens = expert_tokens(experts, layout);
  double bytes = kRouterBytes * as_double(experts.experts) / sizes.norms;
  bytes += tokens * ((sizes.activation + sizes.input) * as_double(hidden) +
                     feed_forward_bytes(experts.expert, sizes, layout.expert_tensor));
  if (experts.shared) {
    bytes += feed_forward_bytes(*experts.shared, sizes, sizes.tensor);
  }
  return bytes;
}

// Gradients of row-parallel products' outputs and of norms' outputs. Branches side by side have one output's.
double deferred_bytes(const LayerShape& layer, const Layout& layout, const Sizes& sizes, bool program) {
  double outputs = 1.0 + (layer.feed_forward && !layer.parallel_branches ? 1.0 : 0.0);
  if (layer.experts) {
    const double tokens = program ? as_double(layer.experts->experts_per_token) * layout.expert_tensor / sizes.norms
                                  : expert_tokens(*layer.experts, layout);
    outputs += tokens + (layer.experts->shared ? 1.0 : 0.0);
  }
  outputs += static_cast<double>(layer.norms) / sizes.norms;
  return outputs * sizes.activation * as_double(layer.hidden);
}

}  // namespace

double activation_size(DataType compute) {
  return compute == DataType::kFp32 || compute == DataType::kTf32 ? 4.0 : 2.0;
}

double product_input_size(DataType compute) {
  return size_of(compute) < 2 ? stored_bytes(compute) : activation_size(compute);
}

ActivationBytes activation_bytes(const LayerShape& layer, const Layout& layout, const MemoryHabits& habits,
                                 double sequence) {
  // The project's own programs keep a product's inputs as they are, and narrow them anew for each product.
  const double input = (habits.program ? activation_size : product_input_size)(layout.compute_type);
  const Sizes sizes{activation_size(layout.compute_type), input, static_cast<double>(layout.tensor),
                    layout.sequence_parallel ? static_cast<double>(layout.tensor) : 1.0};
  const double hidden = as_double(layer.hidden) / sizes.norms;
  ActivationBytes bytes;
  bytes.input = sizes.activation * hidden;
  bytes.all = (layer.parallel_branches ? 1.0 : 2.0) * sizes.activation * hidden + layer.norms * sizes.input * hidden;
  bytes.all +=
      habits.program && !habits.unfused_attention
          ? program_attention_bytes(layer.attention, sizes)
          : attention_bytes(layer.attention, sizes, habits, layout.recompute == Recompute::kSelective, sequence);
  if (layer.feed_forward) {
    bytes.all += feed_forward_bytes(*layer.feed_forward, sizes, sizes.tensor);
  }
  if (layer.experts) {
    bytes.all += habits.program ? program_experts_bytes(*layer.experts, layer.hidden, layout, sizes)
                                : experts_bytes(*layer.experts, layer.hidden, layout, sizes);
  }
  bytes.deferred = deferred_bytes(layer, layout, sizes, habits.program);
  return bytes;
}

}  // namespace trainyard::simulator
