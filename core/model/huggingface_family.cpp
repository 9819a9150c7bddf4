#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/model/huggingface_parts.h"
#include "core/model/model_limits.h"

namespace trainyard {

namespace {

constexpr std::array kFamilies = {
    FamilyName{ModelFamily::kLlama, "LlamaForCausalLM"},
    FamilyName{ModelFamily::kMistral, "MistralForCausalLM"},
    FamilyName{ModelFamily::kMixtral, "MixtralForCausalLM"},
    FamilyName{ModelFamily::kQwen2, "Qwen2ForCausalLM"},
    FamilyName{ModelFamily::kQwen3, "Qwen3ForCausalLM"},
    FamilyName{ModelFamily::kQwen3Moe, "Qwen3MoeForCausalLM"},
    FamilyName{ModelFamily::kPhi3, "Phi3ForCausalLM"},
    FamilyName{ModelFamily::kDeepseekV2, "DeepseekV2ForCausalLM"},
    FamilyName{ModelFamily::kDeepseekV3, "DeepseekV3ForCausalLM"},
    FamilyName{ModelFamily::kGptOss, "GptOssForCausalLM"},
    FamilyName{ModelFamily::kNemotron, "NemotronForCausalLM"},
    FamilyName{ModelFamily::kFalcon, "FalconForCausalLM"},
    FamilyName{ModelFamily::kBloom, "BloomForCausalLM"},
    FamilyName{ModelFamily::kOpt, "OPTForCausalLM"},
    FamilyName{ModelFamily::kGpt2, "GPT2LMHeadModel"},
};

struct ActivationName {
  std::string_view name;
  Activation activation;
};
constexpr std::array kActivations = {
    ActivationName{"silu", Activation::kSilu},
    ActivationName{"gelu", Activation::kGelu},
    ActivationName{"gelu_new", Activation::kGeluTanh},
    ActivationName{"gelu_fast", Activation::kGeluTanh},
    ActivationName{"gelu_pytorch_tanh", Activation::kGeluTanh},
    ActivationName{"relu", Activation::kRelu},
    ActivationName{"relu2", Activation::kSquaredRelu},
};

// An older spelling of the key is "type".
std::string rope_type(ObjectReader& rope) {
  const std::optional<std::string> old_name = rope.optional_text("type");
  return rope.optional_text("rope_type").value_or(old_name.value_or("default"));
}

std::optional<RopeScaling> read_rope_scaling(ObjectReader& rope, const ModelSpec& model) {
  const std::string type = rope_type(rope);
  // Of yarn, what weighs the scores: no size or time depends on them.
  for (const char* key : {"mscale", "mscale_all_dim", "truncate", "attention_factor"}) {
    rope.ignore(key);
  }
  RopeScaling scaling;
  if (type == "default") {
    return std::nullopt;
  }
  if (type == "llama3") {
    scaling.low_frequency_factor = rope.number("low_freq_factor", 0.0);
    scaling.high_frequency_factor = rope.number("high_freq_factor", 0.0);
    if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
      rope.fail("high_freq_factor", "is not above low_freq_factor");
    }
  } else if (type == "linear") {
    scaling.kind = RopeScalingKind::kLinear;
  } else if (type == "dynamic") {
    scaling.kind = RopeScalingKind::kDynamic;
  } else if (type == "yarn") {
    scaling.kind = RopeScalingKind::kYarn;
    scaling.beta_fast = rope.optional_number("beta_fast", 0.0).value_or(scaling.beta_fast);
    scaling.beta_slow = rope.optional_number("beta_slow", 0.0).value_or(scaling.beta_slow);
  } else {
    rope.fail(rope.has("rope_type") ? "rope_type" : "type", "rotary scaling \"" + type + "\" is not supported",
              "\"llama3\", \"linear\", \"dynamic\" and \"yarn\" are");
  }
  scaling.factor = rope.number("factor", 1.0);
  scaling.original_positions =
      scaling.kind == RopeScalingKind::kLlama3
          ? rope.integer("original_max_position_embeddings", 1, kMostPositions)
          : rope.optional_integer("original_max_position_embeddings", 1, kMostPositions).value_or(model.positions);
  return scaling;
}

}  // namespace

FamilyName read_family(ObjectReader& config) {
  const std::string type = config.text("model_type");
  const auto* const found =
      std::ranges::find_if(kFamilies, [&](const FamilyName& known) { return to_string(known.family) == type; });
  if (found == kFamilies.end()) {
    std::string names;
    for (const FamilyName& known : kFamilies) {
      names += (names.empty() ? "" : ", ") + std::string(to_string(known.family));
    }
    config.fail("model_type", "model type \"" + type + "\" is not supported", "these are: " + names);
  }
  return *found;
}

std::string_view architecture_of(ModelFamily family) {
  return std::ranges::find(kFamilies, family, &FamilyName::family)->architecture;
}

Activation read_activation(ObjectReader& config, std::string_view key, std::string_view usual) {
  const std::string name = config.optional_text(key).value_or(std::string(usual));
  const auto* const found = std::ranges::find(kActivations, name, &ActivationName::name);
  if (found == kActivations.end()) {
    config.fail(key, "activation \"" + name + "\" is not supported", "\"silu\", \"gelu\", \"relu\" and \"relu2\" are");
  }
  return found->activation;
}

void set_head_size(ObjectReader& config, ModelSpec& model, std::string_view heads_key,
                   std::optional<std::int64_t> given) {
  if (!given && model.hidden % model.heads != 0) {
    config.fail(heads_key, "does not divide hidden_size " + std::to_string(model.hidden), "or give head_dim");
  }
  model.head_size = given.value_or(model.hidden / model.heads);
  const bool odd = model.position_encoding == PositionEncoding::kRotary && model.head_size % 2 != 0;
  if (model.head_size > kMostHeadSize || odd) {
    config.fail(given ? "head_dim" : heads_key, "gives heads of " + std::to_string(model.head_size) + " elements",
                "rotary positions need an even number up to " + std::to_string(kMostHeadSize));
  }
}

// transformers 5 moves rope_theta and rope_scaling into rope_parameters.
void read_rope(ObjectReader& config, ModelSpec& model, double usual_theta) {
  const auto theta = [](ObjectReader& reader) { return reader.optional_number("rope_theta", 1.0); };
  const auto fraction = [](ObjectReader& reader) { return reader.optional_number("partial_rotary_factor", 0.0, 1.0); };
  model.rope_theta = theta(config).value_or(usual_theta);
  model.rotary_fraction = fraction(config).value_or(model.rotary_fraction);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (std::optional<ObjectReader> rope = config.optional_object(key)) {
      model.rope_theta = theta(*rope).value_or(model.rope_theta);
      model.rotary_fraction = fraction(*rope).value_or(model.rotary_fraction);
      model.rope_scaling = read_rope_scaling(*rope, model);
      rope->finish();
    }
  }
}

}  // namespace trainyard
