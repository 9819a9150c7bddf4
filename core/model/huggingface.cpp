#include "core/model/huggingface.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "core/document/json_document.h"
#include "core/error.h"
#include "core/model/model_limits.h"

namespace trainyard {

namespace {

// What `transformers` takes for an absent key (LlamaConfig).
constexpr double kDefaultNormEpsilon = 1e-6;
constexpr double kDefaultRopeTheta = 10000.0;
constexpr std::int64_t kDefaultPositions = 2048;

// Keys that don't change what is computed in training.
constexpr std::array<std::string_view, 22> kHarmless = {"_name_or_path",
                                                        "_attn_implementation",
                                                        "bos_token_id",
                                                        "eos_token_id",
                                                        "pad_token_id",
                                                        "unk_token_id",
                                                        "dtype",
                                                        "torch_dtype",
                                                        "transformers_version",
                                                        "use_cache",
                                                        "initializer_range",
                                                        "pretraining_tp",
                                                        "return_dict",
                                                        "output_attentions",
                                                        "output_hidden_states",
                                                        "is_encoder_decoder",
                                                        "id2label",
                                                        "label2id",
                                                        "task_specific_params",
                                                        "tokenizer_class",
                                                        "max_length",
                                                        "tie_encoder_decoder"};

void check_family(ObjectReader& config) {
  const std::string family = config.text("model_type");
  if (family != "llama") {
    config.fail("model_type", "model type \"" + family + "\" is not supported",
                "this version trains the Llama family (model_type \"llama\")");
  }
  if (config.has("architectures")) {
    const std::vector<std::string> names = config.texts("architectures");
    if (std::ranges::find(names, "LlamaForCausalLM") == names.end()) {
      config.fail("architectures", "is not a causal language model", "use a config of LlamaForCausalLM");
    }
  }
}

// What our blocks compute in one way only.
void check_fixed_parts(ObjectReader& config) {
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (config.optional_boolean(key).value_or(false)) {
      config.fail(key, "biases are not supported", "use a model without biases");
    }
  }
  const std::string activation = config.optional_text("hidden_act").value_or("silu");
  if (activation != "silu") {
    config.fail("hidden_act", "activation \"" + activation + "\" is not supported", "use \"silu\"");
  }
  if (config.optional_number("attention_dropout").value_or(0.0) != 0.0) {
    config.fail("attention_dropout", "dropout is not supported", "set it to 0.0");
  }
}

// An older spelling of the key is "type".
std::string rope_type(ObjectReader& rope) {
  const std::optional<std::string> old_name = rope.optional_text("type");
  return rope.optional_text("rope_type").value_or(old_name.value_or("default"));
}

std::optional<RopeScaling> read_rope_scaling(ObjectReader& rope) {
  const std::string type = rope_type(rope);
  if (type == "default") {
    return std::nullopt;
  }
  if (type != "llama3") {
    rope.fail(rope.has("rope_type") ? "rope_type" : "type", "rotary scaling \"" + type + "\" is not supported",
              "use \"llama3\" or none");
  }
  RopeScaling scaling;
  scaling.factor = rope.number("factor", 1.0);
  scaling.low_frequency_factor = rope.number("low_freq_factor", 0.0);
  scaling.high_frequency_factor = rope.number("high_freq_factor", 0.0);
  scaling.original_positions = rope.integer("original_max_position_embeddings", 1, kMostPositions);
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
    rope.fail("high_freq_factor", "is not above low_freq_factor");
  }
  return scaling;
}

// transformers 5 moves rope_theta and rope_scaling into rope_parameters.
void read_rope(ObjectReader& config, ModelSpec& model) {
  const auto theta = [](ObjectReader& reader) { return reader.optional_number("rope_theta", 1.0); };
  model.rope_theta = theta(config).value_or(kDefaultRopeTheta);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (std::optional<ObjectReader> rope = config.optional_object(key)) {
      model.rope_theta = theta(*rope).value_or(model.rope_theta);
      model.rope_scaling = read_rope_scaling(*rope);
      rope->finish();
    }
  }
}

void read_heads(ObjectReader& config, ModelSpec& model) {
  model.heads = config.integer("num_attention_heads", 1, kMostHeads);
  model.key_value_heads = config.optional_integer("num_key_value_heads", 1, model.heads).value_or(model.heads);
  if (model.heads % model.key_value_heads != 0) {
    config.fail("num_key_value_heads", "does not divide the " + std::to_string(model.heads) + " attention heads");
  }
  const std::optional<std::int64_t> head_size = config.optional_integer("head_dim", 1, kMostHeadSize);
  if (!head_size && model.hidden % model.heads != 0) {
    config.fail("num_attention_heads", "does not divide hidden_size " + std::to_string(model.hidden),
                "or give head_dim");
  }
  model.head_size = head_size.value_or(model.hidden / model.heads);
  if (model.head_size > kMostHeadSize || model.head_size % 2 != 0) {
    config.fail(head_size ? "head_dim" : "num_attention_heads",
                "gives heads of " + std::to_string(model.head_size) + " elements",
                "rotary positions need an even number up to " + std::to_string(kMostHeadSize));
  }
}

// "models/llm/llama-3-8b.json" -> "llama-3-8b"; ".../Llama-3-8B/config.json" -> "Llama-3-8B".
std::string model_name(const std::filesystem::path& file) {
  const bool generic = file.filename() == "config.json" && file.has_parent_path();
  return generic ? file.parent_path().filename().string() : file.stem().string();
}

}  // namespace

ModelSpec parse_huggingface_config(const std::string& text, const std::string& where) {
  ObjectReader config = parse_json_object(text, where);
  check_family(config);
  check_fixed_parts(config);
  ModelSpec model;
  model.name = model_name(where);
  model.layers = config.integer("num_hidden_layers", 1, kMostLayers);
  model.hidden = config.integer("hidden_size", 1, kMostHidden);
  model.feed_forward = config.integer("intermediate_size", 1, kMostFeedForward);
  model.vocabulary = config.integer("vocab_size", 1, kMostVocabulary);
  model.positions = config.optional_integer("max_position_embeddings", 1, kMostPositions).value_or(kDefaultPositions);
  model.norm_epsilon = config.optional_number("rms_norm_eps", 0.0, 1.0).value_or(kDefaultNormEpsilon);
  model.tied_embeddings = config.optional_boolean("tie_word_embeddings").value_or(false);
  read_heads(config, model);
  read_rope(config, model);
  for (const std::string_view key : kHarmless) {
    config.ignore(key);
  }
  config.finish();
  return model;
}

ModelSpec read_huggingface_config(const std::filesystem::path& file) {
  return parse_huggingface_config(read_text_file(file), file.string());
}

std::string huggingface_config(const ModelSpec& model) {
  nlohmann::ordered_json config = {
      {"architectures", {"LlamaForCausalLM"}},
      {"model_type", "llama"},
      {"torch_dtype", "float32"},
      {"attention_bias", false},
      {"mlp_bias", false},
      {"hidden_act", "silu"},
      {"vocab_size", model.vocabulary},
      {"hidden_size", model.hidden},
      {"intermediate_size", model.feed_forward},
      {"num_hidden_layers", model.layers},
      {"num_attention_heads", model.heads},
      {"num_key_value_heads", model.key_value_heads},
      {"head_dim", model.head_size},
      {"max_position_embeddings", model.positions},
      {"rms_norm_eps", model.norm_epsilon},
      {"rope_theta", model.rope_theta},
      {"rope_scaling", nullptr},
      {"tie_word_embeddings", model.tied_embeddings},
  };
  if (model.rope_scaling) {
    config["rope_scaling"] = {
        {"rope_type", "llama3"},
        {"factor", model.rope_scaling->factor},
        {"low_freq_factor", model.rope_scaling->low_frequency_factor},
        {"high_freq_factor", model.rope_scaling->high_frequency_factor},
        {"original_max_position_embeddings", model.rope_scaling->original_positions},
    };
  }
  return config.dump(2) + "\n";
}

}  // namespace trainyard
