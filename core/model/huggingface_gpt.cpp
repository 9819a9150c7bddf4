#include <string>
#include <vector>

#include "core/model/huggingface_parts.h"
#include "core/model/model_limits.h"

namespace trainyard {

namespace {

constexpr std::int64_t kUsualExpansion = 4;  // of the feed-forward over the hidden state
constexpr std::int64_t kUsualPositions = 2048;

// A key that has two spellings.
std::string_view spelling(ObjectReader& config, std::string_view one, std::string_view other) {
  return config.has(one) || !config.has(other) ? one : other;
}

void must_be(ObjectReader& config, const char* key, bool value, const char* otherwise) {
  if (config.optional_boolean(key).value_or(value) != value) {
    config.fail(key, otherwise, std::string("set it to ") + (value ? "true" : "false"));
  }
}

void ignore_all(ObjectReader& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    config.ignore(key);
  }
}

// Of all four families: layer norm, a plain feed-forward, the head tied to the embedding unless it is said not to be.
void start(ObjectReader& config, ModelSpec& model) {
  model.normalization = Normalization::kLayer;
  model.activation = Activation::kGeluTanh;
  model.gated_feed_forward = false;
  model.vocabulary = config.integer("vocab_size", 1, kMostVocabulary);
  model.tied_embeddings = config.optional_boolean("tie_word_embeddings").value_or(true);
}

void set_all_biases(ModelSpec& model, bool biases) {
  model.query_key_value_bias = biases;
  model.output_bias = biases;
  model.feed_forward_bias = biases;
}

}  // namespace

void read_gpt2(ObjectReader& config, ModelSpec& model) {
  start(config, model);
  set_all_biases(model, true);
  model.position_encoding = PositionEncoding::kLearned;
  model.layers = config.integer("n_layer", 1, kMostLayers);
  model.hidden = config.integer("n_embd", 1, kMostHidden);
  model.heads = config.integer("n_head", 1, kMostHeads);
  model.key_value_heads = model.heads;
  model.feed_forward = config.optional_integer("n_inner", 1, kMostFeedForward).value_or(kUsualExpansion * model.hidden);
  const std::optional<std::int64_t> context = config.optional_integer("n_ctx", 1, kMostPositions);
  model.positions = config.optional_integer("n_positions", 1, kMostPositions).value_or(context.value_or(1024));
  model.norm_epsilon = config.optional_number("layer_norm_epsilon", 0.0, 1.0).value_or(1e-5);
  model.activation = read_activation(config, "activation_function", "gelu_new");
  set_head_size(config, model, "n_head", std::nullopt);
  ignore_all(config, {"attn_pdrop", "embd_pdrop", "resid_pdrop", "summary_activation", "summary_first_dropout",
                      "summary_proj_to_labels", "summary_type", "summary_use_proj", "n_special",
                      "predict_special_tokens", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
                      "reorder_and_upcast_attn", "add_cross_attention"});
}

void read_bloom(ObjectReader& config, ModelSpec& model) {
  start(config, model);
  set_all_biases(model, true);
  model.position_encoding = PositionEncoding::kAlibi;
  model.embedding_norm = true;
  model.layers = config.integer(spelling(config, "n_layer", "num_hidden_layers"), 1, kMostLayers);
  model.hidden = config.integer(spelling(config, "n_embed", "hidden_size"), 1, kMostHidden);
  const std::string_view heads = spelling(config, "num_attention_heads", "n_head");
  model.heads = config.integer(heads, 1, kMostHeads);
  model.key_value_heads = model.heads;
  model.feed_forward = config.optional_integer("n_inner", 1, kMostFeedForward).value_or(kUsualExpansion * model.hidden);
  model.positions = config.optional_integer("seq_length", 1, kMostPositions).value_or(kUsualPositions);
  model.norm_epsilon = config.optional_number("layer_norm_epsilon", 0.0, 1.0).value_or(1e-5);
  set_head_size(config, model, heads, std::nullopt);
  must_be(config, "apply_residual_connection_post_layernorm", false, "residuals after the norm are not supported");
  ignore_all(config, {"attention_dropout", "hidden_dropout", "attention_softmax_in_fp32", "masked_softmax_fusion",
                      "offset_alibi", "skip_bias_add", "skip_bias_add_qkv", "slow_but_exact", "bias_dropout_fusion"});
}

void read_opt(ObjectReader& config, ModelSpec& model) {
  start(config, model);
  model.position_encoding = PositionEncoding::kLearned;
  model.layers = config.integer("num_hidden_layers", 1, kMostLayers);
  model.hidden = config.integer("hidden_size", 1, kMostHidden);
  model.heads = config.integer("num_attention_heads", 1, kMostHeads);
  model.key_value_heads = model.heads;
  model.feed_forward = config.integer("ffn_dim", 1, kMostFeedForward);
  model.positions = config.optional_integer("max_position_embeddings", 1, kMostPositions).value_or(kUsualPositions);
  model.activation = read_activation(config, "activation_function", "relu");
  set_all_biases(model, config.optional_boolean("enable_bias").value_or(true));
  set_head_size(config, model, "num_attention_heads", std::nullopt);
  must_be(config, "do_layer_norm_before", true, "norms after the residual are not supported");
  must_be(config, "layer_norm_elementwise_affine", true, "norms without scale are not supported");
  if (config.optional_integer("word_embed_proj_dim", 1).value_or(model.hidden) != model.hidden) {
    config.fail("word_embed_proj_dim", "an embedding of another width than hidden_size is not supported");
  }
  ignore_all(config, {"attention_dropout", "activation_dropout", "dropout", "layerdrop", "init_std", "prefix",
                      "_remove_final_layer_norm"});
}

void read_falcon(ObjectReader& config, ModelSpec& model) {
  start(config, model);
  model.layers = config.integer("num_hidden_layers", 1, kMostLayers);
  model.hidden = config.integer("hidden_size", 1, kMostHidden);
  model.heads = config.integer("num_attention_heads", 1, kMostHeads);
  const bool two_norms = config.optional_boolean("new_decoder_architecture").value_or(false);
  const bool one_key_head = config.optional_boolean("multi_query").value_or(true);
  const std::optional<std::int64_t> given = config.optional_integer("num_kv_heads", 1, model.heads);
  // The older architecture has one key head or all of them, whatever num_kv_heads says.
  model.key_value_heads = two_norms ? given.value_or(model.heads) : (one_key_head ? 1 : model.heads);
  if (model.heads % model.key_value_heads != 0) {
    config.fail("num_kv_heads", "does not divide the " + std::to_string(model.heads) + " attention heads");
  }
  model.feed_forward =
      config.optional_integer("ffn_hidden_size", 1, kMostFeedForward).value_or(kUsualExpansion * model.hidden);
  model.positions = config.optional_integer("max_position_embeddings", 1, kMostPositions).value_or(kUsualPositions);
  model.norm_epsilon = config.optional_number("layer_norm_epsilon", 0.0, 1.0).value_or(1e-5);
  model.position_encoding =
      config.optional_boolean("alibi").value_or(false) ? PositionEncoding::kAlibi : PositionEncoding::kRotary;
  model.parallel_branches = two_norms || config.optional_boolean("parallel_attn").value_or(true);
  config.ignore("parallel_attn");
  const std::int64_t norms = config.optional_integer("num_ln_in_parallel_attn", 1, 2).value_or(two_norms ? 2 : 1);
  model.shared_norm = model.parallel_branches && norms == 1;
  set_all_biases(model, config.optional_boolean("bias").value_or(false));
  set_head_size(config, model, "num_attention_heads", std::nullopt);
  read_rope(config, model, 10000.0);
  model.activation = read_activation(config, "activation", "gelu");
  must_be(config, "apply_residual_connection_post_layernorm", false, "residuals after the norm are not supported");
  ignore_all(config, {"attention_dropout", "hidden_dropout", "auto_map"});
}

}  // namespace trainyard
