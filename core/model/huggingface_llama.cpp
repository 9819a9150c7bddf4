#include <algorithm>
#include <string>
#include <vector>

#include "core/model/huggingface_parts.h"
#include "core/model/model_limits.h"

namespace trainyard {

namespace {

// What `transformers` takes for an absent key, by family (its configuration classes).
struct Defaults {
  double norm_epsilon = 1e-6;
  double rope_theta = 10000.0;
  std::int64_t positions = 32768;
  std::optional<std::int64_t> key_value_heads;  // none: as many as heads
};

Defaults defaults_of(ModelFamily family) {
  constexpr std::int64_t kEight = 8;
  switch (family) {
    case ModelFamily::kLlama:
      return {.positions = 2048};
    case ModelFamily::kMistral:
      return {.positions = 131072, .key_value_heads = kEight};
    case ModelFamily::kMixtral:
      return {.norm_epsilon = 1e-5, .rope_theta = 1e6, .positions = 131072, .key_value_heads = kEight};
    case ModelFamily::kPhi3:
      return {.norm_epsilon = 1e-5, .positions = 4096};
    case ModelFamily::kDeepseekV2:
      return {.positions = 2048};
    case ModelFamily::kDeepseekV3:
      return {.positions = 4096};
    case ModelFamily::kGptOss:
      return {.norm_epsilon = 1e-5, .rope_theta = 150000.0, .positions = 131072, .key_value_heads = kEight};
    case ModelFamily::kNemotron:
      return {.norm_epsilon = 1e-5, .positions = 4096};
    default:
      return {};
  }
}

bool latent(ModelFamily family) { return family == ModelFamily::kDeepseekV2 || family == ModelFamily::kDeepseekV3; }

void read_heads(ObjectReader& config, ModelSpec& model) {
  model.heads = config.integer("num_attention_heads", 1, kMostHeads);
  const std::int64_t usual = defaults_of(model.family).key_value_heads.value_or(model.heads);
  model.key_value_heads =
      config.optional_integer("num_key_value_heads", 1, model.heads).value_or(std::min(usual, model.heads));
  if (model.heads % model.key_value_heads != 0) {
    config.fail("num_key_value_heads", "does not divide the " + std::to_string(model.heads) + " attention heads");
  }
  const std::optional<std::int64_t> given = config.optional_integer("head_dim", 1, kMostHeadSize);
  const bool qwen3 = model.family == ModelFamily::kQwen3 || model.family == ModelFamily::kQwen3Moe;
  constexpr std::int64_t kQwen3HeadSize = 128;  // whatever the width
  set_head_size(config, model, "num_attention_heads", given || !qwen3 ? given : std::optional(kQwen3HeadSize));
}

void read_latent_attention(ObjectReader& config, ModelSpec& model) {
  model.heads = config.integer("num_attention_heads", 1, kMostHeads);
  model.key_value_heads = model.heads;
  config.ignore("num_key_value_heads");  // every head has its own keys once the latent is unpacked
  LatentAttention& attention = model.latent_attention.emplace();
  attention.query_rank = config.optional_integer("q_lora_rank", 1, kMostHidden);
  attention.key_value_rank = config.integer("kv_lora_rank", 1, kMostHidden);
  attention.no_rope_size = config.integer("qk_nope_head_dim", 1, kMostHeadSize);
  attention.rope_size = config.integer("qk_rope_head_dim", 1, kMostHeadSize);
  model.value_head_size = config.integer("v_head_dim", 1, kMostHeadSize);
  for (const char* key : {"qk_head_dim", "head_dim"}) {  // written by later versions, of what is above
    config.ignore(key);
  }
  set_head_size(config, model, "qk_rope_head_dim", attention.no_rope_size + attention.rope_size);
}

void read_biases(ObjectReader& config, ModelSpec& model) {
  const bool gpt_oss = model.family == ModelFamily::kGptOss;
  const bool attention = config.optional_boolean("attention_bias").value_or(gpt_oss);
  model.query_key_value_bias = attention || model.family == ModelFamily::kQwen2;
  model.output_bias = attention;
  model.feed_forward_bias = config.optional_boolean("mlp_bias").value_or(false);
  // Our kernels of the Llama family have none, so that it would be trained otherwise than asked for.
  if (config.optional_number("attention_dropout").value_or(0.0) != 0.0) {
    config.fail("attention_dropout", "dropout is not supported", "set it to 0.0");
  }
}

void read_sparse_layers(ObjectReader& config, MixtureOfExperts& experts) {
  experts.every = config.optional_integer("decoder_sparse_step", 1, kMostLayers).value_or(1);
  experts.first_dense_layers = experts.every - 1;  // layers with (i + 1) % step == 0 have experts
  if (config.has("mlp_only_layers")) {
    const std::vector<std::int64_t> dense = config.integers("mlp_only_layers", 0, kMostLayers);
    for (std::size_t i = 0; i < dense.size(); ++i) {
      if (dense[i] != static_cast<std::int64_t>(i) || experts.every != 1) {
        config.fail("mlp_only_layers", "dense layers among those with experts can't be said",
                    "only the first ones, 0, 1, ..., may be dense");
      }
    }
    experts.first_dense_layers = std::max(experts.first_dense_layers, static_cast<std::int64_t>(dense.size()));
  }
}

void read_deepseek_experts(ObjectReader& config, const ModelSpec& model, MixtureOfExperts& experts) {
  experts.experts = config.integer("n_routed_experts", 1, kMostExperts);
  experts.expert_feed_forward = config.integer("moe_intermediate_size", 1, kMostFeedForward);
  experts.shared_experts = config.optional_integer("n_shared_experts", 0, kMostExperts).value_or(0);
  experts.first_dense_layers = config.optional_integer("first_k_dense_replace", 0, kMostLayers).value_or(0);
  experts.every = config.optional_integer("moe_layer_freq", 1, kMostLayers).value_or(1);
  if (experts.first_dense_layers % experts.every != 0) {
    config.fail("moe_layer_freq", "does not divide first_k_dense_replace", "use 1");
  }
  experts.groups = config.optional_integer("n_group", 1, experts.experts).value_or(1);
  experts.groups_per_token = config.optional_integer("topk_group", 1, experts.groups).value_or(1);
  experts.router_bias = model.family == ModelFamily::kDeepseekV3;  // e_score_correction_bias
}

void read_experts(ObjectReader& config, ModelSpec& model) {
  MixtureOfExperts experts;
  switch (model.family) {
    case ModelFamily::kMixtral:
      experts.experts = config.optional_integer("num_local_experts", 1, kMostExperts).value_or(8);
      experts.experts_per_token = 2;
      experts.expert_feed_forward = model.feed_forward;
      break;
    case ModelFamily::kQwen3Moe:
      experts.experts = config.optional_integer("num_experts", 1, kMostExperts).value_or(128);
      experts.experts_per_token = 8;
      experts.expert_feed_forward = config.integer("moe_intermediate_size", 1, kMostFeedForward);
      read_sparse_layers(config, experts);
      break;
    case ModelFamily::kGptOss:
      experts.experts = config.optional_integer("num_local_experts", 1, kMostExperts).value_or(128);
      experts.experts_per_token = config.optional_integer("experts_per_token", 1, experts.experts).value_or(4);
      experts.expert_feed_forward = model.feed_forward;
      experts.router_bias = true;
      experts.expert_bias = true;
      break;
    case ModelFamily::kDeepseekV2:
    case ModelFamily::kDeepseekV3:
      if (!config.has("n_routed_experts")) {
        return;
      }
      experts.experts_per_token = 8;
      read_deepseek_experts(config, model, experts);
      break;
    default:
      return;
  }
  experts.experts_per_token = config.optional_integer("num_experts_per_tok", 1, experts.experts)
                                  .value_or(std::min(experts.experts_per_token, experts.experts));
  const double elements = 3.0 * static_cast<double>(model.layers) * static_cast<double>(model.hidden) *
                          static_cast<double>(experts.experts + experts.shared_experts) *
                          static_cast<double>(experts.expert_feed_forward);
  if (elements > kMostElements) {
    config.fail("num_hidden_layers", "times the experts gives more parameters than can be counted");
  }
  model.experts = experts;
}

// "layer_types" names each layer's attention; full layers must come at even distances.
void read_layer_types(ObjectReader& config, ModelSpec& model) {
  if (!config.has("layer_types")) {
    return;
  }
  const std::vector<std::string> types = config.texts("layer_types");
  SlidingWindow& window = *model.sliding_window;
  const auto first_full = std::ranges::find(types, std::string("full_attention"));
  window.full_every = first_full == types.end() ? 0 : first_full - types.begin() + 1;
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    const bool full = types[layer] == "full_attention";
    if (full != full_attention(model, static_cast<std::int64_t>(layer)) ||
        (!full && types[layer] != "sliding_attention")) {
      config.fail("layer_types", "layer " + std::to_string(layer) + " is \"" + types[layer] + "\" out of turn",
                  "\"full_attention\" must come every so many layers, \"sliding_attention\" between");
    }
  }
  if (types.size() != static_cast<std::size_t>(model.layers)) {
    config.fail("layer_types", "has " + std::to_string(types.size()) + " entries for num_hidden_layers layers");
  }
  if (window.full_every == 1) {
    model.sliding_window.reset();
  }
}

void read_window(ObjectReader& config, ModelSpec& model) {
  switch (model.family) {
    case ModelFamily::kMistral:
    case ModelFamily::kGptOss:
    case ModelFamily::kMixtral:
    case ModelFamily::kPhi3:
      break;
    case ModelFamily::kQwen2:
    case ModelFamily::kQwen3:
    case ModelFamily::kQwen3Moe:
      config.ignore("sliding_window");
      config.ignore("max_window_layers");
      config.ignore("layer_types");
      if (config.optional_boolean("use_sliding_window").value_or(false)) {
        config.fail("use_sliding_window", "a window on the last layers only can't be said", "set it to false");
      }
      return;
    default:
      return;
  }
  std::optional<std::int64_t> window = config.optional_integer("sliding_window", 1, kMostPositions);
  if (!window && !config.is_null("sliding_window")) {
    if (model.family == ModelFamily::kMistral) {
      window = 4096;
    } else if (model.family == ModelFamily::kGptOss) {
      window = 128;
    }
  }
  if (window) {
    model.sliding_window = SlidingWindow{.window = *window, .full_every = model.family == ModelFamily::kGptOss ? 2 : 0};
    read_layer_types(config, model);
  }
}

// Keys of these families that change neither a shape nor a cost: the router's scoring, its losses, the checkpoint's
// number format.
void ignore_harmless(ObjectReader& config, ModelFamily family) {
  if (family == ModelFamily::kLlama) {
    return;
  }
  for (const char* key : {"auto_map",
                          "aux_loss_alpha",
                          "ep_size",
                          "norm_topk_prob",
                          "routed_scaling_factor",
                          "scoring_func",
                          "seq_aux",
                          "topk_method",
                          "router_aux_loss_coef",
                          "router_jitter_noise",
                          "output_router_logits",
                          "swiglu_limit",
                          "initial_context_length",
                          "quantization_config",
                          "resid_pdrop",
                          "embd_pdrop",
                          "residual_dropout",
                          "hidden_dropout",
                          "original_max_position_embeddings",
                          "max_window_layers",
                          "rope_interleave",
                          "dense_interleave",
                          "use_mrope"}) {
    config.ignore(key);
  }
}

}  // namespace

void read_llama_dialect(ObjectReader& config, ModelSpec& model) {
  const Defaults usual = defaults_of(model.family);
  const bool nemotron = model.family == ModelFamily::kNemotron;
  model.layers = config.integer("num_hidden_layers", 1, kMostLayers);
  model.hidden = config.integer("hidden_size", 1, kMostHidden);
  model.feed_forward = config.integer("intermediate_size", 1, kMostFeedForward);
  model.vocabulary = config.integer("vocab_size", 1, kMostVocabulary);
  model.positions = config.optional_integer("max_position_embeddings", 1, kMostPositions).value_or(usual.positions);
  model.norm_epsilon =
      config.optional_number(nemotron ? "norm_eps" : "rms_norm_eps", 0.0, 1.0).value_or(usual.norm_epsilon);
  model.tied_embeddings = config.optional_boolean("tie_word_embeddings").value_or(false);
  model.activation = read_activation(config, "hidden_act", nemotron ? "relu2" : "silu");
  if (nemotron) {
    model.normalization = Normalization::kLayer;
    model.gated_feed_forward = false;
    // Conversions spell partial_rotary_factor in two ways.
    model.rotary_fraction = config.optional_number("rope_percent", 0.0, 1.0).value_or(0.5);
  }
  if (latent(model.family)) {
    read_latent_attention(config, model);
  } else {
    read_heads(config, model);
  }
  read_biases(config, model);
  read_rope(config, model, usual.rope_theta);
  read_experts(config, model);
  read_window(config, model);
  model.query_key_norm = model.family == ModelFamily::kQwen3 || model.family == ModelFamily::kQwen3Moe;
  model.attention_sinks = model.family == ModelFamily::kGptOss;
  if (model.family == ModelFamily::kDeepseekV3) {
    model.multi_token_layers =
        config.optional_integer("num_nextn_predict_layers", 0, kMostMultiTokenLayers).value_or(0);
  }
  ignore_harmless(config, model.family);
}

}  // namespace trainyard
