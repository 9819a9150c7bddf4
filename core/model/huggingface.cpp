#include "core/model/huggingface.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/document/json_document.h"
#include "core/error.h"
#include "core/model/huggingface_parts.h"

namespace trainyard {

namespace {

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

ModelFamily read_checked_family(ObjectReader& config) {
  const FamilyName known = read_family(config);
  if (config.has("architectures")) {
    const std::vector<std::string> names = config.texts("architectures");
    if (std::ranges::find(names, known.architecture) == names.end()) {
      config.fail("architectures", "is not a causal language model",
                  "use a config of " + std::string(known.architecture));
    }
  }
  return known.family;
}

// "models/llm/llama-3-8b.json" -> "llama-3-8b"; ".../Llama-3-8B/config.json" -> "Llama-3-8B".
std::string model_name(const std::filesystem::path& file) {
  const bool generic = file.filename() == "config.json" && file.has_parent_path();
  return generic ? file.parent_path().filename().string() : file.stem().string();
}

}  // namespace

ModelSpec parse_huggingface_config(const std::string& text, const std::string& where) {
  ObjectReader config = parse_json_object(text, where);
  ModelSpec model;
  model.name = model_name(where);
  model.family = read_checked_family(config);
  switch (model.family) {
    case ModelFamily::kGpt2:
      read_gpt2(config, model);
      break;
    case ModelFamily::kBloom:
      read_bloom(config, model);
      break;
    case ModelFamily::kOpt:
      read_opt(config, model);
      break;
    case ModelFamily::kFalcon:
      read_falcon(config, model);
      break;
    default:
      read_llama_dialect(config, model);
      break;
  }
  for (const std::string_view key : kHarmless) {
    config.ignore(key);
  }
  config.finish();
  return model;
}

ModelSpec read_huggingface_config(const std::filesystem::path& file) {
  return parse_huggingface_config(read_text_file(file), file.string());
}

}  // namespace trainyard
