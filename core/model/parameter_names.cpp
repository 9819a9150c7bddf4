#include "core/model/parameter_list.h"

namespace trainyard {

namespace {

std::int64_t query_width(const ModelSpec& model) { return model.heads * model.head_size; }
std::int64_t key_width(const ModelSpec& model) { return model.key_value_heads * model.head_size; }

void add_latent_attention(ParameterList& list, const ModelSpec& model, const LatentAttention& latent) {
  const bool bias = model.query_key_value_bias;
  if (const std::optional<std::int64_t> rank = latent.query_rank) {
    list.product(ParameterKind::kQueryLatent, "self_attn.q_a_proj", *rank, model.hidden, bias);
    list.norm(ParameterKind::kQueryLatentNorm, "self_attn.q_a_layernorm", *rank);
    list.product(ParameterKind::kQuery, "self_attn.q_b_proj", query_width(model), *rank);
  } else {
    list.product(ParameterKind::kQuery, "self_attn.q_proj", query_width(model), model.hidden);
  }
  list.product(ParameterKind::kKeyValueLatent, "self_attn.kv_a_proj_with_mqa", latent.key_value_rank + latent.rope_size,
               model.hidden, bias);
  list.norm(ParameterKind::kKeyValueLatentNorm, "self_attn.kv_a_layernorm", latent.key_value_rank);
  list.product(ParameterKind::kKeyValue, "self_attn.kv_b_proj",
               model.heads * (latent.no_rope_size + value_head_size(model)), latent.key_value_rank);
}

void add_grouped_attention(ParameterList& list, const ModelSpec& model) {
  const bool bias = model.query_key_value_bias;
  if (model.family == ModelFamily::kPhi3) {
    list.product(ParameterKind::kQueryKeyValue, "self_attn.qkv_proj", query_width(model) + 2 * key_width(model),
                 model.hidden, bias);
    return;
  }
  list.product(ParameterKind::kQuery, "self_attn.q_proj", query_width(model), model.hidden, bias);
  list.product(ParameterKind::kKey, "self_attn.k_proj", key_width(model), model.hidden, bias);
  list.product(ParameterKind::kValue, "self_attn.v_proj", key_width(model), model.hidden, bias);
}

void add_dense_feed_forward(ParameterList& list, const ModelSpec& model) {
  const bool bias = model.feed_forward_bias;
  if (model.family == ModelFamily::kPhi3) {
    list.product(ParameterKind::kGateUp, "mlp.gate_up_proj", 2 * model.feed_forward, model.hidden, bias);
  } else {
    if (model.gated_feed_forward) {
      list.product(ParameterKind::kGate, "mlp.gate_proj", model.feed_forward, model.hidden, bias);
    }
    list.product(ParameterKind::kUp, "mlp.up_proj", model.feed_forward, model.hidden, bias);
  }
  list.product(ParameterKind::kDown, "mlp.down_proj", model.hidden, model.feed_forward, bias);
}

// GPT-OSS keeps all experts of a layer in one tensor, inputs before outputs.
void add_stacked_experts(ParameterList& list, const ModelSpec& model, const MixtureOfExperts& experts) {
  const std::int64_t width = experts.expert_feed_forward;
  list.product(ParameterKind::kRouter, "mlp.router", experts.experts, model.hidden, experts.router_bias);
  list.tensor(ParameterKind::kExpertGateUp, "mlp.experts.gate_up_proj", {experts.experts, model.hidden, 2 * width});
  list.tensor(ParameterKind::kExpertGateUp, "mlp.experts.gate_up_proj_bias", {experts.experts, 2 * width},
              ParameterPart::kBias);
  list.tensor(ParameterKind::kExpertDown, "mlp.experts.down_proj", {experts.experts, width, model.hidden});
  list.tensor(ParameterKind::kExpertDown, "mlp.experts.down_proj_bias", {experts.experts, model.hidden},
              ParameterPart::kBias);
}

void add_experts(ParameterList& list, const ModelSpec& model, const MixtureOfExperts& experts) {
  if (model.family == ModelFamily::kGptOss) {
    return add_stacked_experts(list, model, experts);
  }
  const bool mixtral = model.family == ModelFamily::kMixtral;
  const std::string base = mixtral ? "block_sparse_moe." : "mlp.";
  list.product(ParameterKind::kRouter, base + "gate", experts.experts, model.hidden);
  if (experts.router_bias) {
    list.tensor(ParameterKind::kRouter, base + "gate.e_score_correction_bias", {experts.experts}, ParameterPart::kBias);
  }
  const std::int64_t width = experts.expert_feed_forward;
  for (int expert = 0; expert < experts.experts; ++expert) {
    const std::string one = base + "experts." + std::to_string(expert) + ".";
    list.product(ParameterKind::kExpertGate, one + (mixtral ? "w1" : "gate_proj"), width, model.hidden, false, expert);
    list.product(ParameterKind::kExpertUp, one + (mixtral ? "w3" : "up_proj"), width, model.hidden, false, expert);
    list.product(ParameterKind::kExpertDown, one + (mixtral ? "w2" : "down_proj"), model.hidden, width, false, expert);
  }
  if (const std::int64_t shared = experts.shared_experts * width; shared > 0) {
    list.product(ParameterKind::kSharedGate, base + "shared_experts.gate_proj", shared, model.hidden);
    list.product(ParameterKind::kSharedUp, base + "shared_experts.up_proj", shared, model.hidden);
    list.product(ParameterKind::kSharedDown, base + "shared_experts.down_proj", model.hidden, shared);
  }
}

// Names of the same parts in the families before Llama.
struct GptNames {
  const char* attention_norm;
  const char* output;
  const char* mlp_norm;
  const char* up;
  const char* down;
};

GptNames gpt_names(const ModelSpec& model) {
  switch (model.family) {
    case ModelFamily::kGpt2:
      return {"ln_1", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"};
    case ModelFamily::kOpt:
      return {"self_attn_layer_norm", "self_attn.out_proj", "final_layer_norm", "fc1", "fc2"};
    case ModelFamily::kFalcon:
      if (model.parallel_branches && !model.shared_norm) {
        return {"ln_attn", "self_attention.dense", "ln_mlp", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"};
      }
      break;
    default:
      break;
  }
  return {"input_layernorm", "self_attention.dense", "post_attention_layernorm", "mlp.dense_h_to_4h",
          "mlp.dense_4h_to_h"};
}

void add_gpt_queries_keys_values(ParameterList& list, const ModelSpec& model) {
  const std::int64_t width = query_width(model) + 2 * key_width(model);
  const bool bias = model.query_key_value_bias;
  switch (model.family) {
    case ModelFamily::kGpt2:
      return list.transposed(ParameterKind::kQueryKeyValue, "attn.c_attn", width, model.hidden);
    case ModelFamily::kOpt:
      list.product(ParameterKind::kQuery, "self_attn.q_proj", query_width(model), model.hidden, bias);
      list.product(ParameterKind::kKey, "self_attn.k_proj", key_width(model), model.hidden, bias);
      return list.product(ParameterKind::kValue, "self_attn.v_proj", key_width(model), model.hidden, bias);
    default:
      return list.product(ParameterKind::kQueryKeyValue, "self_attention.query_key_value", width, model.hidden, bias);
  }
}

}  // namespace

void add_llama_layer(ParameterList& list, const ModelSpec& model, int layer) {
  list.norm(ParameterKind::kAttentionNorm, "input_layernorm", model.hidden);
  if (model.latent_attention) {
    add_latent_attention(list, model, *model.latent_attention);
  } else {
    add_grouped_attention(list, model);
  }
  if (model.query_key_norm) {
    list.norm(ParameterKind::kQueryNorm, "self_attn.q_norm", model.head_size);
    list.norm(ParameterKind::kKeyNorm, "self_attn.k_norm", model.head_size);
  }
  if (model.attention_sinks) {
    list.tensor(ParameterKind::kSinks, "self_attn.sinks", {model.heads});
  }
  list.product(ParameterKind::kOutput, "self_attn.o_proj", model.hidden, model.heads * value_head_size(model),
               model.output_bias);
  list.norm(ParameterKind::kMlpNorm, "post_attention_layernorm", model.hidden);
  if (has_experts(model, layer)) {
    add_experts(list, model, *model.experts);
  } else {
    add_dense_feed_forward(list, model);
  }
}

void add_gpt_layer(ParameterList& list, const ModelSpec& model) {
  const GptNames names = gpt_names(model);
  const auto product = [&](ParameterKind kind, const char* name, std::int64_t outputs, std::int64_t inputs, bool bias) {
    if (model.family == ModelFamily::kGpt2) {
      list.transposed(kind, name, outputs, inputs);
    } else {
      list.product(kind, name, outputs, inputs, bias);
    }
  };
  list.norm(ParameterKind::kAttentionNorm, names.attention_norm, model.hidden);
  if (model.parallel_branches && !model.shared_norm) {
    list.norm(ParameterKind::kMlpNorm, names.mlp_norm, model.hidden);
  }
  add_gpt_queries_keys_values(list, model);
  product(ParameterKind::kOutput, names.output, model.hidden, query_width(model), model.output_bias);
  if (!model.parallel_branches) {
    list.norm(ParameterKind::kMlpNorm, names.mlp_norm, model.hidden);
  }
  product(ParameterKind::kUp, names.up, model.feed_forward, model.hidden, model.feed_forward_bias);
  product(ParameterKind::kDown, names.down, model.hidden, model.feed_forward, model.feed_forward_bias);
}

}  // namespace trainyard
