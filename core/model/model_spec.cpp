#include "core/model/model_spec.h"

namespace trainyard {

namespace {

// OPTLearnedPositionalEmbedding in transformers: the first two rows are of the padding's.
constexpr std::int64_t kOptExtraPositions = 2;

std::optional<std::string> beyond_llama_attention(const ModelSpec& model) {
  if (model.latent_attention) {
    return "latent attention";
  }
  if (model.value_head_size && *model.value_head_size != model.head_size) {
    return "values of another size than keys";
  }
  if (model.sliding_window) {
    return "sliding-window attention";
  }
  if (model.query_key_norm) {
    return "norm of queries and keys";
  }
  if (model.attention_sinks) {
    return "attention sinks";
  }
  if (model.query_key_value_bias || model.output_bias || model.feed_forward_bias) {
    return "biases";
  }
  return std::nullopt;
}

std::optional<std::string> beyond_llama_positions(const ModelSpec& model) {
  if (model.position_encoding == PositionEncoding::kLearned) {
    return "learned positions";
  }
  if (model.position_encoding == PositionEncoding::kAlibi) {
    return "ALiBi positions";
  }
  if (model.rotary_fraction != 1.0) {
    return "rotary positions of a part of the head";
  }
  if (model.rope_scaling && model.rope_scaling->kind != RopeScalingKind::kLlama3) {
    return "rotary scaling \"" + std::string(to_string(model.rope_scaling->kind)) + "\"";
  }
  return std::nullopt;
}

// Families whose tensors are named and stored as Llama's.
bool named_as_llama(ModelFamily family) { return family == ModelFamily::kLlama || family == ModelFamily::kMistral; }

}  // namespace

std::string_view to_string(ModelFamily family) {
  switch (family) {
    case ModelFamily::kLlama:
      return "llama";
    case ModelFamily::kMistral:
      return "mistral";
    case ModelFamily::kMixtral:
      return "mixtral";
    case ModelFamily::kQwen2:
      return "qwen2";
    case ModelFamily::kQwen3:
      return "qwen3";
    case ModelFamily::kQwen3Moe:
      return "qwen3_moe";
    case ModelFamily::kPhi3:
      return "phi3";
    case ModelFamily::kDeepseekV2:
      return "deepseek_v2";
    case ModelFamily::kDeepseekV3:
      return "deepseek_v3";
    case ModelFamily::kGptOss:
      return "gpt_oss";
    case ModelFamily::kNemotron:
      return "nemotron";
    case ModelFamily::kFalcon:
      return "falcon";
    case ModelFamily::kBloom:
      return "bloom";
    case ModelFamily::kOpt:
      return "opt";
    case ModelFamily::kGpt2:
      return "gpt2";
  }
  return "?";
}

std::string_view to_string(RopeScalingKind kind) {
  switch (kind) {
    case RopeScalingKind::kLlama3:
      return "llama3";
    case RopeScalingKind::kLinear:
      return "linear";
    case RopeScalingKind::kDynamic:
      return "dynamic";
    case RopeScalingKind::kYarn:
      return "yarn";
  }
  return "?";
}

std::string_view to_string(Normalization normalization) {
  return normalization == Normalization::kRms ? "rms" : "layer";
}

std::string_view to_string(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu_new";
    case Activation::kRelu:
      return "relu";
    case Activation::kSquaredRelu:
      return "relu2";
  }
  return "?";
}

std::string_view to_string(PositionEncoding encoding) {
  switch (encoding) {
    case PositionEncoding::kRotary:
      return "rotary";
    case PositionEncoding::kLearned:
      return "learned";
    case PositionEncoding::kAlibi:
      return "alibi";
  }
  return "?";
}

bool has_experts(const ModelSpec& model, std::int64_t layer) {
  if (!model.experts || layer < model.experts->first_dense_layers) {
    return false;
  }
  return (layer - model.experts->first_dense_layers) % model.experts->every == 0;
}

bool full_attention(const ModelSpec& model, std::int64_t layer) {
  if (!model.sliding_window) {
    return true;
  }
  const std::int64_t every = model.sliding_window->full_every;
  return every > 0 && (layer + 1) % every == 0;
}

std::int64_t value_head_size(const ModelSpec& model) { return model.value_head_size.value_or(model.head_size); }

std::int64_t position_rows(const ModelSpec& model) {
  return model.positions + (model.family == ModelFamily::kOpt ? kOptExtraPositions : 0);
}

std::optional<std::string> beyond_llama_block(const ModelSpec& model) {
  if (model.experts) {
    return "mixture of experts";
  }
  if (model.multi_token_layers > 0) {
    return "multi-token prediction";
  }
  if (auto attention = beyond_llama_attention(model)) {
    return attention;
  }
  if (auto positions = beyond_llama_positions(model)) {
    return positions;
  }
  if (model.normalization != Normalization::kRms || model.embedding_norm) {
    return "layer norm";
  }
  if (model.activation != Activation::kSilu || !model.gated_feed_forward) {
    return "feed-forward but gated silu";
  }
  if (model.parallel_branches) {
    return "attention beside feed-forward";
  }
  if (!named_as_llama(model.family)) {
    return "weights as the family " + std::string(to_string(model.family)) + " stores them";
  }
  return std::nullopt;
}

bool is_llama_block(const ModelSpec& model) { return !beyond_llama_block(model); }

bool is_gpt2_block(const ModelSpec& model) {
  const bool biased = model.query_key_value_bias && model.output_bias && model.feed_forward_bias;
  const bool plain_attention = !model.latent_attention && !model.sliding_window && !model.query_key_norm &&
                               !model.attention_sinks && model.key_value_heads == model.heads &&
                               value_head_size(model) == model.head_size;
  const bool plain_block =
      !model.experts && model.multi_token_layers == 0 && !model.parallel_branches && !model.embedding_norm;
  return model.family == ModelFamily::kGpt2 && biased && plain_attention && plain_block &&
         model.normalization == Normalization::kLayer && model.activation == Activation::kGeluTanh &&
         !model.gated_feed_forward && model.position_encoding == PositionEncoding::kLearned;
}

}  // namespace trainyard
