#include "core/program/layer_sizes.h"

#include <algorithm>
#include <cmath>

#include "core/layout/shard_spec.h"

namespace trainyard {

namespace {

LocalProduct cut(const ProductShape& product, std::int64_t tensor) {
  LocalProduct local{product.inputs, product.outputs, product.bias};
  if (product.cut == TensorCut::kOutputs) {
    local.outputs /= tensor;
  } else if (product.cut == TensorCut::kInputs) {
    local.inputs /= tensor;
  }
  return local;
}

// Elements of a token's queries and keys that rotary positions turn.
std::int64_t rotated(const ModelSpec& model, const LocalAttention& attention) {
  if (model.position_encoding != PositionEncoding::kRotary) {
    return 0;
  }
  if (model.latent_attention) {
    return (attention.heads + 1) * model.latent_attention->rope_size;
  }
  const double turned =
      model.rotary_fraction * static_cast<double>((attention.heads + attention.key_heads) * attention.key_size);
  return static_cast<std::int64_t>(turned);
}

LocalAttention local_attention(const ModelSpec& model, const AttentionShape& shape, std::int64_t tensor) {
  LocalAttention local;
  for (const ProductShape& product : shape.inputs) {
    local.inputs.push_back(cut(product, tensor));
  }
  local.output = cut(shape.output, tensor);
  local.heads = shape.heads / tensor;
  local.key_heads = std::max<std::int64_t>(1, shape.key_value_heads / tensor);
  local.key_size = shape.query_key_size;
  local.value_size = shape.value_size;
  local.window = shape.window.value_or(0);
  if (model.latent_attention) {
    local.normed = model.latent_attention->query_rank.value_or(0) + model.latent_attention->key_value_rank;
  } else if (shape.norm_elements > 0) {
    local.normed = (local.heads + local.key_heads) * local.key_size;
  }
  local.rotated = rotated(model, local);
  return local;
}

LocalFeedForward local_feed_forward(const FeedForwardShape& shape, std::int64_t hidden, int tensor, int index) {
  return {hidden, even_range(shape.width, tensor, index).size(), shape.gated, shape.up.bias};
}

LocalExperts local_experts(const ExpertsShape& shape, std::int64_t hidden, const Layout& layout,
                           std::int64_t routed_tokens) {
  LocalExperts local;
  local.experts = shape.experts;
  local.here = std::max<std::int64_t>(1, shape.experts / layout.expert);
  local.per_token = shape.experts_per_token;
  local.tokens = routed_tokens;
  // Tokens of ep x etp ranks meet here, the etp ranks' all.
  const std::int64_t arriving = local.routed() * layout.expert_tensor;
  local.each = (arriving + local.here - 1) / local.here;
  double most = shape.imbalance;
  if (shape.capacity_factor) {
    most = std::min(most, *shape.capacity_factor);
  }
  local.busiest = static_cast<std::int64_t>(std::ceil(static_cast<double>(local.each) * std::max(1.0, most)));
  local.expert = local_feed_forward(shape.expert, hidden, layout.expert_tensor, 0);
  return local;
}

std::int64_t norm_elements(const LayerShape& layer) {
  return layer.normalization == Normalization::kLayer ? 2 * layer.hidden : layer.hidden;
}

std::int64_t elements(const ProductShape& product, std::int64_t tensor) {
  const LocalProduct local = cut(product, tensor);
  return local.inputs * local.outputs + (product.bias ? local.outputs : 0);
}

std::int64_t elements(const FeedForwardShape& shape, std::int64_t tensor) {
  return elements(shape.up, tensor) + elements(shape.down, tensor);
}

}  // namespace

std::int64_t LocalAttention::products_width() const {
  std::int64_t width = 0;
  for (const LocalProduct& product : inputs) {
    width += product.outputs;
  }
  return width;
}

LayerSizes layer_sizes(const ModelSpec& model, const LayerShape& layer, const Layout& layout, int tensor_index,
                       std::int64_t routed_tokens) {
  LayerSizes sizes;
  sizes.attention = local_attention(model, layer.attention, layout.tensor);
  if (layer.feed_forward) {
    sizes.feed_forward = local_feed_forward(*layer.feed_forward, layer.hidden, layout.tensor, tensor_index);
  }
  if (layer.experts) {
    sizes.experts = local_experts(*layer.experts, layer.hidden, layout, routed_tokens);
    if (layer.experts->shared) {
      sizes.feed_forward = local_feed_forward(*layer.experts->shared, layer.hidden, layout.tensor, tensor_index);
    }
  }
  return sizes;
}

LayerWeights layer_weights(const LayerShape& layer, const Layout& layout) {
  LayerWeights weights;
  weights.attention_norm = norm_elements(layer);
  weights.mlp_norm = layer.norms > 1 ? norm_elements(layer) : 0;
  for (const ProductShape& product : layer.attention.inputs) {
    weights.attention += elements(product, layout.tensor);
  }
  weights.attention += layer.attention.norm_elements + layer.attention.sinks / layout.tensor;
  weights.output = elements(layer.attention.output, layout.tensor);
  if (layer.feed_forward) {
    weights.feed_forward = elements(*layer.feed_forward, layout.tensor);
  }
  if (layer.experts) {
    weights.router = layer.experts->router.parameters();
    weights.feed_forward = layer.experts->shared ? elements(*layer.experts->shared, layout.tensor) : 0;
    weights.experts = layer.experts->experts / layout.expert * elements(layer.experts->expert, layout.expert_tensor);
  }
  return weights;
}

}  // namespace trainyard
