#include <nlohmann/json.hpp>
#include <string_view>

#include "core/model/huggingface.h"
#include "core/model/huggingface_parts.h"

namespace trainyard {

namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json rope_scaling_json(const RopeScaling& scaling) {
  ordered_json json = {{"rope_type", to_string(scaling.kind)}, {"factor", scaling.factor}};
  if (scaling.kind == RopeScalingKind::kLlama3) {
    json["low_freq_factor"] = scaling.low_frequency_factor;
    json["high_freq_factor"] = scaling.high_frequency_factor;
  }
  if (scaling.kind == RopeScalingKind::kYarn) {
    json["beta_fast"] = scaling.beta_fast;
    json["beta_slow"] = scaling.beta_slow;
  }
  json["original_max_position_embeddings"] = scaling.original_positions;
  return json;
}

ordered_json start(const ModelSpec& model) {
  return {{"architectures", {architecture_of(model.family)}},
          {"model_type", to_string(model.family)},
          {"torch_dtype", "float32"},
          {"vocab_size", model.vocabulary},
          {"tie_word_embeddings", model.tied_embeddings}};
}

ordered_json gpt2(const ModelSpec& model) {
  ordered_json config = start(model);
  config.update({{"n_layer", model.layers},
                 {"n_embd", model.hidden},
                 {"n_head", model.heads},
                 {"n_inner", model.feed_forward},
                 {"n_positions", model.positions},
                 {"n_ctx", model.positions},
                 {"activation_function", to_string(model.activation)},
                 {"layer_norm_epsilon", model.norm_epsilon}});
  return config;
}

// BLOOM's feed-forward is four times as wide as its hidden state in every version of the class.
ordered_json bloom(const ModelSpec& model) {
  ordered_json config = start(model);
  config.update({{"n_layer", model.layers},
                 {"hidden_size", model.hidden},
                 {"n_head", model.heads},
                 {"n_inner", model.feed_forward},
                 {"seq_length", model.positions},
                 {"apply_residual_connection_post_layernorm", false},
                 {"layer_norm_epsilon", model.norm_epsilon}});
  return config;
}

ordered_json opt(const ModelSpec& model) {
  ordered_json config = start(model);
  config.update({{"num_hidden_layers", model.layers},
                 {"hidden_size", model.hidden},
                 {"word_embed_proj_dim", model.hidden},
                 {"num_attention_heads", model.heads},
                 {"ffn_dim", model.feed_forward},
                 {"max_position_embeddings", model.positions},
                 {"activation_function", to_string(model.activation)},
                 {"enable_bias", model.query_key_value_bias},
                 {"do_layer_norm_before", true}});
  return config;
}

ordered_json falcon(const ModelSpec& model) {
  ordered_json config = start(model);
  const bool new_architecture = model.key_value_heads != 1 && model.key_value_heads != model.heads;
  config.update({{"num_hidden_layers", model.layers},
                 {"hidden_size", model.hidden},
                 {"num_attention_heads", model.heads},
                 {"num_kv_heads", model.key_value_heads},
                 {"multi_query", model.key_value_heads == 1},
                 {"new_decoder_architecture", new_architecture},
                 {"ffn_hidden_size", model.feed_forward},
                 {"activation", to_string(model.activation)},
                 {"alibi", model.position_encoding == PositionEncoding::kAlibi},
                 {"bias", model.query_key_value_bias},
                 {"parallel_attn", model.parallel_branches},
                 {"num_ln_in_parallel_attn", model.shared_norm ? 1 : 2},
                 {"max_position_embeddings", model.positions},
                 {"layer_norm_epsilon", model.norm_epsilon},
                 {"rope_theta", model.rope_theta}});
  return config;
}

void add_experts(const ModelSpec& model, const MixtureOfExperts& experts, ordered_json& config) {
  config["num_experts_per_tok"] = experts.experts_per_token;
  switch (model.family) {
    case ModelFamily::kQwen3Moe:
      config["num_experts"] = experts.experts;
      config["moe_intermediate_size"] = experts.expert_feed_forward;
      config["decoder_sparse_step"] = experts.every;
      config["mlp_only_layers"] = ordered_json::array();
      for (std::int64_t layer = 0; experts.every == 1 && layer < experts.first_dense_layers; ++layer) {
        config["mlp_only_layers"].push_back(layer);
      }
      break;
    case ModelFamily::kDeepseekV2:
    case ModelFamily::kDeepseekV3:
      config["n_routed_experts"] = experts.experts;
      config["moe_intermediate_size"] = experts.expert_feed_forward;
      config["n_shared_experts"] = experts.shared_experts;
      config["first_k_dense_replace"] = experts.first_dense_layers;
      config["moe_layer_freq"] = experts.every;
      config["n_group"] = experts.groups;
      config["topk_group"] = experts.groups_per_token;
      break;
    default:
      config["num_local_experts"] = experts.experts;
      break;
  }
}

void add_attention(const ModelSpec& model, ordered_json& config) {
  config["num_attention_heads"] = model.heads;
  config["num_key_value_heads"] = model.key_value_heads;
  if (const std::optional<LatentAttention>& latent = model.latent_attention) {
    config["q_lora_rank"] = or_null(latent->query_rank);
    config["kv_lora_rank"] = latent->key_value_rank;
    config["qk_nope_head_dim"] = latent->no_rope_size;
    config["qk_rope_head_dim"] = latent->rope_size;
    config["v_head_dim"] = value_head_size(model);
  } else {
    config["head_dim"] = model.head_size;
  }
  config["attention_bias"] = model.output_bias;
  if (model.sliding_window) {
    config["sliding_window"] = model.sliding_window->window;
  } else if (model.family == ModelFamily::kMistral || model.family == ModelFamily::kGptOss) {
    config["sliding_window"] = nullptr;  // absent means a window to these
  }
  if (model.sliding_window && model.sliding_window->full_every > 0) {
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      config["layer_types"].push_back(full_attention(model, layer) ? "full_attention" : "sliding_attention");
    }
  }
}

ordered_json llama_dialect(const ModelSpec& model) {
  const bool nemotron = model.family == ModelFamily::kNemotron;
  ordered_json config = start(model);
  config["hidden_act"] = to_string(model.activation);
  config["hidden_size"] = model.hidden;
  config["intermediate_size"] = model.feed_forward;
  config["num_hidden_layers"] = model.layers;
  add_attention(model, config);
  config["mlp_bias"] = model.feed_forward_bias;
  config["max_position_embeddings"] = model.positions;
  config[nemotron ? "norm_eps" : "rms_norm_eps"] = model.norm_epsilon;
  config["rope_theta"] = model.rope_theta;
  config["rope_scaling"] = model.rope_scaling ? rope_scaling_json(*model.rope_scaling) : ordered_json(nullptr);
  if (nemotron) {
    config["partial_rotary_factor"] = model.rotary_fraction;
  }
  if (model.experts) {
    add_experts(model, *model.experts, config);
  }
  if (model.family == ModelFamily::kDeepseekV3) {
    config["num_nextn_predict_layers"] = model.multi_token_layers;
  }
  return config;
}

ordered_json config_of(const ModelSpec& model) {
  switch (model.family) {
    case ModelFamily::kGpt2:
      return gpt2(model);
    case ModelFamily::kBloom:
      return bloom(model);
    case ModelFamily::kOpt:
      return opt(model);
    case ModelFamily::kFalcon:
      return falcon(model);
    default:
      return llama_dialect(model);
  }
}

}  // namespace

std::string huggingface_config(const ModelSpec& model, std::string_view weights) {
  ordered_json config = config_of(model);
  config["torch_dtype"] = weights;
  return config.dump(2) + "\n";
}

}  // namespace trainyard
