#include "core/plan/model_document.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/model/model_limits.h"

namespace trainyard {

namespace {

using nlohmann::ordered_json;

void read(ObjectReader& reader, std::string_view key, std::int64_t& value) {
  value = reader.optional_integer(key).value_or(value);
}
void read(ObjectReader& reader, std::string_view key, double& value) {
  value = reader.optional_number(key).value_or(value);
}
void read(ObjectReader& reader, std::string_view key, bool& value) {
  value = reader.optional_boolean(key).value_or(value);
}

// The fields that are on or off, by their names in a plan. Model: ModelSpec, const or not.
template <class Model>
auto switches(Model& model) {
  using Field = std::pair<std::string_view, decltype(&model.tied_embeddings)>;
  return std::array{Field{"gated_feed_forward", &model.gated_feed_forward},
                    Field{"query_key_value_bias", &model.query_key_value_bias},
                    Field{"output_bias", &model.output_bias},
                    Field{"feed_forward_bias", &model.feed_forward_bias},
                    Field{"query_key_norm", &model.query_key_norm},
                    Field{"attention_sinks", &model.attention_sinks},
                    Field{"parallel_branches", &model.parallel_branches},
                    Field{"shared_norm", &model.shared_norm},
                    Field{"embedding_norm", &model.embedding_norm}};
}

RopeScaling read_rope_scaling(ObjectReader& reader) {
  RopeScaling scaling;
  scaling.kind = reader
                     .optional_one_of("kind", {RopeScalingKind::kLlama3, RopeScalingKind::kLinear,
                                               RopeScalingKind::kDynamic, RopeScalingKind::kYarn})
                     .value_or(scaling.kind);
  scaling.factor = reader.number("factor", 1.0);
  scaling.low_frequency_factor = reader.number("low_frequency_factor", 0.0);
  scaling.high_frequency_factor = reader.number("high_frequency_factor", 0.0);
  scaling.original_positions = reader.integer("original_positions", 1, kMostPositions);
  read(reader, "beta_fast", scaling.beta_fast);
  read(reader, "beta_slow", scaling.beta_slow);
  return scaling;
}

LatentAttention read_latent_attention(ObjectReader& reader) {
  LatentAttention attention;
  attention.query_rank = reader.optional_integer("query_rank");
  attention.key_value_rank = reader.integer("key_value_rank");
  attention.no_rope_size = reader.integer("no_rope_size");
  attention.rope_size = reader.integer("rope_size");
  return attention;
}

MixtureOfExperts read_experts(ObjectReader& reader) {
  MixtureOfExperts experts;
  experts.experts = reader.integer("experts");
  experts.experts_per_token = reader.integer("experts_per_token");
  experts.expert_feed_forward = reader.integer("expert_feed_forward");
  read(reader, "shared_experts", experts.shared_experts);
  read(reader, "first_dense_layers", experts.first_dense_layers);
  read(reader, "every", experts.every);
  experts.capacity_factor = reader.optional_number("capacity_factor");
  read(reader, "imbalance", experts.imbalance);
  read(reader, "groups", experts.groups);
  read(reader, "groups_per_token", experts.groups_per_token);
  read(reader, "router_bias", experts.router_bias);
  read(reader, "expert_bias", experts.expert_bias);
  return experts;
}

SlidingWindow read_window(ObjectReader& reader) {
  SlidingWindow window;
  window.window = reader.integer("window");
  read(reader, "full_every", window.full_every);
  return window;
}

// An object that may be absent, read to its last key.
template <class T>
std::optional<T> optional_part(ObjectReader& reader, std::string_view key, T (*read_part)(ObjectReader&)) {
  std::optional<ObjectReader> part = reader.optional_object(key);
  if (!part) {
    return std::nullopt;
  }
  T value = read_part(*part);
  part->finish();
  return value;
}

void read_kinds(ObjectReader& reader, ModelSpec& model) {
  model.normalization = reader.optional_one_of("normalization", {Normalization::kRms, Normalization::kLayer})
                            .value_or(model.normalization);
  model.activation = reader
                         .optional_one_of("activation", {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh,
                                                         Activation::kRelu, Activation::kSquaredRelu})
                         .value_or(model.activation);
  model.position_encoding =
      reader
          .optional_one_of("position_encoding",
                           {PositionEncoding::kRotary, PositionEncoding::kLearned, PositionEncoding::kAlibi})
          .value_or(model.position_encoding);
  read(reader, "rotary_fraction", model.rotary_fraction);
  for (const auto& [key, value] : switches(model)) {
    read(reader, key, *value);
  }
}

ordered_json rope_scaling_json(const RopeScaling& rope) {
  ordered_json json = {{"factor", rope.factor},
                       {"low_frequency_factor", rope.low_frequency_factor},
                       {"high_frequency_factor", rope.high_frequency_factor},
                       {"original_positions", rope.original_positions}};
  if (rope.kind != RopeScalingKind::kLlama3) {
    json["kind"] = to_string(rope.kind);
  }
  if (rope.kind == RopeScalingKind::kYarn) {
    json["beta_fast"] = rope.beta_fast;
    json["beta_slow"] = rope.beta_slow;
  }
  return json;
}

ordered_json experts_json(const MixtureOfExperts& experts) {
  ordered_json json = {{"experts", experts.experts},
                       {"experts_per_token", experts.experts_per_token},
                       {"expert_feed_forward", experts.expert_feed_forward},
                       {"shared_experts", experts.shared_experts},
                       {"first_dense_layers", experts.first_dense_layers},
                       {"every", experts.every},
                       {"capacity_factor", nullptr},
                       {"imbalance", experts.imbalance},
                       {"groups", experts.groups},
                       {"groups_per_token", experts.groups_per_token},
                       {"router_bias", experts.router_bias},
                       {"expert_bias", experts.expert_bias}};
  if (experts.capacity_factor) {
    json["capacity_factor"] = *experts.capacity_factor;
  }
  return json;
}

ordered_json latent_attention_json(const LatentAttention& attention) {
  ordered_json json = {{"query_rank", nullptr},
                       {"key_value_rank", attention.key_value_rank},
                       {"no_rope_size", attention.no_rope_size},
                       {"rope_size", attention.rope_size}};
  if (attention.query_rank) {
    json["query_rank"] = *attention.query_rank;
  }
  return json;
}

// What Llama has none of.
void add_parts(const ModelSpec& model, ordered_json& json) {
  if (model.value_head_size) {
    json["value_head_size"] = *model.value_head_size;
  }
  if (model.latent_attention) {
    json["latent_attention"] = latent_attention_json(*model.latent_attention);
  }
  if (model.experts) {
    json["experts"] = experts_json(*model.experts);
  }
  if (const std::optional<SlidingWindow>& window = model.sliding_window) {
    json["sliding_window"] = {{"window", window->window}, {"full_every", window->full_every}};
  }
  if (model.multi_token_layers > 0) {
    json["multi_token_layers"] = model.multi_token_layers;
  }
}

}  // namespace

ModelSpec read_model(ObjectReader reader) {
  ModelSpec model;
  model.family = reader.one_of(
      "family", {ModelFamily::kLlama, ModelFamily::kMistral, ModelFamily::kMixtral, ModelFamily::kQwen2,
                 ModelFamily::kQwen3, ModelFamily::kQwen3Moe, ModelFamily::kPhi3, ModelFamily::kDeepseekV2,
                 ModelFamily::kDeepseekV3, ModelFamily::kGptOss, ModelFamily::kNemotron, ModelFamily::kFalcon,
                 ModelFamily::kBloom, ModelFamily::kOpt, ModelFamily::kGpt2});
  model.name = reader.text("name");
  model.layers = reader.integer("layers");
  model.hidden = reader.integer("hidden");
  model.feed_forward = reader.integer("feed_forward");
  model.heads = reader.integer("heads");
  model.key_value_heads = reader.integer("key_value_heads", 1);
  model.head_size = reader.integer("head_size");
  model.vocabulary = reader.integer("vocabulary");
  model.positions = reader.integer("positions");
  model.norm_epsilon = reader.number("norm_epsilon", 0.0, 1.0);
  model.rope_theta = reader.number("rope_theta", 1.0);
  model.rope_scaling = optional_part(reader, "rope_scaling", read_rope_scaling);
  model.tied_embeddings = reader.boolean("tied_embeddings");
  read_kinds(reader, model);
  model.value_head_size = reader.optional_integer("value_head_size");
  model.latent_attention = optional_part(reader, "latent_attention", read_latent_attention);
  model.experts = optional_part(reader, "experts", read_experts);
  model.sliding_window = optional_part(reader, "sliding_window", read_window);
  read(reader, "multi_token_layers", model.multi_token_layers);
  reader.finish();
  return model;
}

ordered_json model_json(const ModelSpec& model) {
  ordered_json json = {{"name", model.name},
                       {"family", to_string(model.family)},
                       {"layers", model.layers},
                       {"hidden", model.hidden},
                       {"feed_forward", model.feed_forward},
                       {"heads", model.heads},
                       {"key_value_heads", model.key_value_heads},
                       {"head_size", model.head_size},
                       {"vocabulary", model.vocabulary},
                       {"positions", model.positions},
                       {"norm_epsilon", model.norm_epsilon},
                       {"rope_theta", model.rope_theta},
                       {"rope_scaling", nullptr},
                       {"tied_embeddings", model.tied_embeddings}};
  if (model.rope_scaling) {
    json["rope_scaling"] = rope_scaling_json(*model.rope_scaling);
  }
  const ModelSpec usual;
  if (model.normalization != usual.normalization) {
    json["normalization"] = to_string(model.normalization);
  }
  if (model.activation != usual.activation) {
    json["activation"] = to_string(model.activation);
  }
  if (model.position_encoding != usual.position_encoding) {
    json["position_encoding"] = to_string(model.position_encoding);
  }
  if (model.rotary_fraction != usual.rotary_fraction) {
    json["rotary_fraction"] = model.rotary_fraction;
  }
  const auto usual_switches = switches(usual);
  const auto own_switches = switches(model);
  for (std::size_t i = 0; i < own_switches.size(); ++i) {
    if (*own_switches[i].second != *usual_switches[i].second) {
      json[std::string(own_switches[i].first)] = *own_switches[i].second;
    }
  }
  add_parts(model, json);
  return json;
}

}  // namespace trainyard
