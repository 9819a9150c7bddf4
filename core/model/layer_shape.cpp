#include "core/model/layer_shape.h"

#include <algorithm>

namespace trainyard {

namespace {

constexpr std::int64_t norm_size(Normalization normalization, std::int64_t elements) {
  return normalization == Normalization::kLayer ? 2 * elements : elements;
}

FeedForwardShape feed_forward_shape(const ModelSpec& model, std::int64_t width, bool bias) {
  FeedForwardShape shape;
  shape.width = width;
  shape.gated = model.gated_feed_forward;
  shape.activation = model.activation;
  shape.up = {model.hidden, (shape.gated ? 2 : 1) * width, TensorCut::kOutputs, bias};
  shape.down = {width, model.hidden, TensorCut::kInputs, bias};
  return shape;
}

// Liu et al. 2024 (DeepSeek-V2), equations 9 to 19. The narrow products down to the latents aren't worth cutting.
void add_latent_inputs(const ModelSpec& model, const LatentAttention& latent, AttentionShape& shape) {
  const bool bias = model.query_key_value_bias;
  const std::int64_t queries = model.heads * model.head_size;
  if (const std::optional<std::int64_t> rank = latent.query_rank) {
    shape.inputs.push_back({model.hidden, *rank, TensorCut::kWhole, bias});
    shape.inputs.push_back({*rank, queries, TensorCut::kOutputs, false});
    shape.norm_elements += *rank;
  } else {
    shape.inputs.push_back({model.hidden, queries, TensorCut::kOutputs, false});
  }
  shape.key_value_elements = latent.key_value_rank + latent.rope_size;
  shape.inputs.push_back({model.hidden, shape.key_value_elements, TensorCut::kWhole, bias});
  shape.inputs.push_back(
      {latent.key_value_rank, model.heads * (latent.no_rope_size + shape.value_size), TensorCut::kOutputs, false});
  shape.norm_elements += latent.key_value_rank;
}

AttentionShape attention_shape(const ModelSpec& model, bool full) {
  AttentionShape shape;
  shape.heads = model.heads;
  shape.key_value_heads = model.latent_attention ? model.heads : model.key_value_heads;
  shape.query_key_size = model.head_size;
  shape.value_size = value_head_size(model);
  if (!full) {
    shape.window = model.sliding_window->window;
  }
  if (model.latent_attention) {
    add_latent_inputs(model, *model.latent_attention, shape);
  } else {
    shape.key_value_elements = shape.key_value_heads * (shape.query_key_size + shape.value_size);
    shape.inputs.push_back({model.hidden, shape.query_elements() + shape.key_value_elements, TensorCut::kOutputs,
                            model.query_key_value_bias});
  }
  shape.output = {shape.output_elements(), model.hidden, TensorCut::kInputs, model.output_bias};
  shape.norm_elements += model.query_key_norm ? 2 * shape.query_key_size : 0;
  shape.sinks = model.attention_sinks ? shape.heads : 0;
  return shape;
}

ExpertsShape experts_shape(const ModelSpec& model, const MixtureOfExperts& mixture) {
  ExpertsShape shape;
  shape.experts = mixture.experts;
  shape.experts_per_token = mixture.experts_per_token;
  shape.router = {model.hidden, mixture.experts, TensorCut::kWhole, mixture.router_bias};
  shape.expert = feed_forward_shape(model, mixture.expert_feed_forward, mixture.expert_bias);
  if (mixture.shared_experts > 0) {
    shape.shared = feed_forward_shape(model, mixture.shared_experts * mixture.expert_feed_forward, mixture.expert_bias);
  }
  shape.capacity_factor = mixture.capacity_factor;
  shape.imbalance = mixture.imbalance;
  return shape;
}

LayerShape shape_of(const ModelSpec& model, bool experts, bool full) {
  LayerShape shape;
  shape.hidden = model.hidden;
  shape.normalization = model.normalization;
  shape.norms = model.shared_norm ? 1 : 2;
  shape.parallel_branches = model.parallel_branches;
  shape.attention = attention_shape(model, full);
  if (experts) {
    shape.experts = experts_shape(model, *model.experts);
  } else {
    shape.feed_forward = feed_forward_shape(model, model.feed_forward, model.feed_forward_bias);
  }
  return shape;
}

MultiTokenShape multi_token_shape(const ModelSpec& model) {
  MultiTokenShape shape;
  shape.blocks = model.multi_token_layers;
  shape.projection = {2 * model.hidden, model.hidden, TensorCut::kOutputs, false};
  shape.layer = layer_shape(model, model.layers - 1);  // built as the last ones are
  return shape;
}

// Norms of a layer, with those inside attention.
std::int64_t norm_parameters(const LayerShape& layer) {
  return layer.norms * norm_size(layer.normalization, layer.hidden) + layer.attention.norm_elements;
}

std::int64_t attention_parameters(const AttentionShape& attention) {
  std::int64_t total = attention.output.parameters() + attention.sinks;
  for (const ProductShape& product : attention.inputs) {
    total += product.parameters();
  }
  return total;
}

// With so many of the experts.
std::int64_t layer_parameters(const LayerShape& layer, bool all_experts) {
  std::int64_t total = norm_parameters(layer) + attention_parameters(layer.attention);
  if (layer.feed_forward) {
    total += layer.feed_forward->parameters();
  }
  if (layer.experts) {
    const ExpertsShape& mixture = *layer.experts;
    total += mixture.router.parameters() +
             (all_experts ? mixture.experts : mixture.experts_per_token) * mixture.expert.parameters();
    total += mixture.shared ? mixture.shared->parameters() : 0;
  }
  return total;
}

}  // namespace

const LayerShape& ModelShape::layer(std::int64_t index) const {
  return kinds[static_cast<std::size_t>(kind_of_layer[static_cast<std::size_t>(index)])];
}

LayerShape layer_shape(const ModelSpec& model, std::int64_t layer) {
  return shape_of(model, has_experts(model, layer), full_attention(model, layer));
}

ModelShape model_shape(const ModelSpec& model) {
  ModelShape shape;
  std::vector<std::pair<bool, bool>> known;  // experts, full attention
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::pair<bool, bool> kind{has_experts(model, layer), full_attention(model, layer)};
    const auto found = std::ranges::find(known, kind);
    const auto index = found - known.begin();
    if (found == known.end()) {
      known.push_back(kind);
      shape.kinds.push_back(shape_of(model, kind.first, kind.second));
      shape.count.push_back(0);
    }
    ++shape.count[static_cast<std::size_t>(index)];
    shape.kind_of_layer.push_back(static_cast<int>(index));
  }
  if (model.multi_token_layers > 0) {
    shape.multi_token = multi_token_shape(model);
  }
  const std::int64_t norm = norm_size(model.normalization, model.hidden);
  shape.embedding_parameters = model.vocabulary * model.hidden + (model.embedding_norm ? norm : 0);
  shape.position_parameters =
      model.position_encoding == PositionEncoding::kLearned ? position_rows(model) * model.hidden : 0;
  shape.final_norm_parameters = norm;
  shape.head = {model.hidden, model.vocabulary, TensorCut::kOutputs, false};
  shape.tied_embeddings = model.tied_embeddings;
  return shape;
}

std::int64_t parameter_count(const LayerShape& layer) { return layer_parameters(layer, true); }

std::int64_t active_parameter_count(const LayerShape& layer) { return layer_parameters(layer, false); }

std::int64_t active_weight_count(const LayerShape& layer) {
  std::int64_t total = layer.attention.output.weights();
  for (const ProductShape& product : layer.attention.inputs) {
    total += product.weights();
  }
  if (layer.feed_forward) {
    total += layer.feed_forward->weights();
  }
  if (layer.experts) {
    const ExpertsShape& mixture = *layer.experts;
    total += mixture.router.weights() + mixture.experts_per_token * mixture.expert.weights();
    total += mixture.shared ? mixture.shared->weights() : 0;
  }
  return total;
}

std::int64_t parameter_count(const MultiTokenShape& multi_token) {
  const std::int64_t norms = multi_token.norms * norm_size(multi_token.layer.normalization, multi_token.layer.hidden);
  return multi_token.blocks * (multi_token.projection.parameters() + parameter_count(multi_token.layer) + norms);
}

double mean_keys(const AttentionShape& attention, std::int64_t sequence) {
  const auto tokens = static_cast<double>(sequence);
  if (!attention.window || *attention.window >= sequence) {
    return tokens / 2;
  }
  const auto window = static_cast<double>(*attention.window);
  return window - window * window / (2 * tokens);
}

}  // namespace trainyard
