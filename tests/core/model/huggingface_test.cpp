#include "core/model/huggingface.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/document/read_file.h"
#include "core/model/parameter.h"
#include "tests/support/error_of.h"
#include "tests/support/reference_file.h"

namespace trainyard {
namespace {

using nlohmann::json;

json demo() { return json::parse(read_text_file(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/demo-llama.json")); }

ModelSpec parse(const json& config) { return parse_huggingface_config(config.dump(), "x/Demo/config.json"); }

Error refused(const char* key, const json& value) {
  json config = demo();
  config[key] = value;
  return error_of([&] { parse(config); });
}

TEST(HuggingFaceConfig, GivesTheShapeOfTheModel) {
  const ModelSpec model = parse(demo());
  EXPECT_EQ(model.name, "Demo");
  EXPECT_EQ(model.layers, 4);
  EXPECT_EQ(model.hidden, 256);
  EXPECT_EQ(model.feed_forward, 704);
  EXPECT_EQ(model.heads, 8);
  EXPECT_EQ(model.key_value_heads, 4);
  EXPECT_EQ(model.head_size, 32);
  EXPECT_EQ(model.vocabulary, 256);
  EXPECT_EQ(model.positions, 512);
  EXPECT_EQ(model.norm_epsilon, 1e-5);
  EXPECT_FALSE(model.tied_embeddings);
}

TEST(HuggingFaceConfig, TakesTheDefaultsOfTransformers) {
  json config = demo();
  for (const char* key : {"num_key_value_heads", "rms_norm_eps", "rope_theta", "rope_scaling", "hidden_act",
                          "attention_bias", "mlp_bias", "tie_word_embeddings", "max_position_embeddings"}) {
    config.erase(key);
  }
  const ModelSpec model = parse(config);
  EXPECT_EQ(model.key_value_heads, 8);
  EXPECT_EQ(model.norm_epsilon, 1e-6);
  EXPECT_EQ(model.rope_theta, 10000.0);
  EXPECT_EQ(model.positions, 2048);
}

TEST(HuggingFaceConfig, ReadsRotaryScalingInTheOldAndTheNewPlace) {
  const json scaling = {{"rope_type", "llama3"},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 8192}};
  json old_place = demo();
  old_place["rope_scaling"] = scaling;
  old_place["rope_theta"] = 500000.0;
  json new_place = demo();
  new_place.erase("rope_theta");
  new_place["rope_parameters"] = scaling;
  new_place["rope_parameters"]["rope_theta"] = 500000.0;
  EXPECT_EQ(parse(old_place), parse(new_place));
  ASSERT_TRUE(parse(old_place).rope_scaling.has_value());
  EXPECT_EQ(parse(old_place).rope_scaling->factor, 8.0);
  EXPECT_EQ(parse(old_place).rope_theta, 500000.0);
}

TEST(HuggingFaceConfig, WritesWhatItReads) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm")) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    const ModelSpec model = read_huggingface_config(entry.path());
    EXPECT_EQ(parse_huggingface_config(huggingface_config(model), entry.path().string()), model) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 28);
}

TEST(HuggingFaceConfig, RefusesWhatItCannotSay) {
  EXPECT_EQ(refused("model_type", "t5").where(), "x/Demo/config.json#/model_type");
  EXPECT_TRUE(contains(refused("model_type", "t5").hint(), "llama, mistral, mixtral"));
  EXPECT_TRUE(contains(refused("architectures", json::array({"LlamaForSequenceClassification"})).problem(), "causal"));
  EXPECT_TRUE(contains(refused("hidden_act", "tanh").problem(), "tanh"));
  EXPECT_TRUE(contains(refused("attention_dropout", 0.1).problem(), "dropout"));
  EXPECT_EQ(refused("rope_scaling", {{"type", "longrope"}, {"factor", 2.0}}).where(),
            "x/Demo/config.json#/rope_scaling/type");
  EXPECT_TRUE(contains(refused("sliding_window", 4096).problem(), "unknown key"));
  EXPECT_TRUE(contains(refused("quantization_config", json::object()).problem(), "unknown key"));
}

// What a Llama's config may say beyond the block that our kernels compute is kept, and named.
TEST(HuggingFaceConfig, KeepsWhatIsBeyondALlamaBlock) {
  const auto beyond = [](const char* key, const json& value) {
    json config = demo();
    config[key] = value;
    return beyond_llama_block(parse(config)).value_or("");
  };
  EXPECT_TRUE(is_llama_block(parse(demo())));
  EXPECT_EQ(beyond("attention_bias", true), "biases");
  EXPECT_EQ(beyond("mlp_bias", true), "biases");
  EXPECT_EQ(beyond("hidden_act", "gelu"), "feed-forward but gated silu");
  EXPECT_EQ(beyond("rope_scaling", {{"type", "linear"}, {"factor", 2.0}}), "rotary scaling \"linear\"");
}

TEST(HuggingFaceConfig, TellsGeluByTheErrorFunctionFromGeluByTanh) {
  const auto read = [](const char* name) {
    json config = demo();
    config["hidden_act"] = name;
    return parse(config).activation;
  };
  EXPECT_EQ(read("gelu"), Activation::kGelu);
  for (const char* tanh : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"}) {
    EXPECT_EQ(read(tanh), Activation::kGeluTanh) << tanh;
  }
}

TEST(HuggingFaceConfig, RefusesSizesThatDoNotFitTogether) {
  EXPECT_TRUE(contains(refused("num_key_value_heads", 3).problem(), "does not divide"));
  EXPECT_TRUE(contains(refused("num_attention_heads", 12).problem(), "does not divide"));
  EXPECT_TRUE(contains(refused("head_dim", 33).hint(), "even"));
  EXPECT_TRUE(contains(refused("num_hidden_layers", 0).problem(), "out of range"));
  EXPECT_TRUE(contains(refused("hidden_size", "256").problem(), "is a string"));
}

TEST(HuggingFaceConfig, AcceptsKeysThatDoNotChangeTheComputation) {
  json config = demo();
  config.update({{"torch_dtype", "bfloat16"},
                 {"bos_token_id", 1},
                 {"eos_token_id", json::array({1, 2})},
                 {"transformers_version", "4.40.0"},
                 {"use_cache", true},
                 {"initializer_range", 0.02},
                 {"pretraining_tp", 1},
                 {"attention_dropout", 0.0}});
  EXPECT_EQ(parse(config), parse(demo()));
}

// Every key of every shipped config taken out or set to nonsense: read, or refused with an Error; never anything else,
// and whatever was read can be counted.
TEST(HuggingFaceConfig, RefusesOrReadsWhateverIsChanged) {
  const std::vector<json> values = {nullptr,
                                    true,
                                    -1,
                                    0,
                                    1,
                                    3,
                                    7919,
                                    1.5,
                                    std::int64_t{1} << 62,
                                    "x",
                                    json::array(),
                                    json::object(),
                                    json::array({3, 1}),
                                    json::array({"full_attention"})};
  int read = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm")) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    const json config = json::parse(read_text_file(entry.path()));
    for (const auto& [key, value] : config.items()) {
      for (std::size_t i = 0; i <= values.size(); ++i) {
        json changed = config;
        changed.erase(key);
        if (i < values.size()) {
          changed[key] = values[i];
        }
        try {
          EXPECT_GT(parameter_count(parse(changed)), 0) << changed;
          ++read;
        } catch (const Error& error) {
          EXPECT_FALSE(error.where().empty());
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 1000);
}

// The collection of published configs, where this machine has it.
TEST(HuggingFaceConfig, ReadsEveryPublishedConfigExactly) {
  const auto path = reference_file("llm-configs/INDEX.json");
  if (!path) {
    GTEST_SKIP() << "no llm-configs/INDEX.json in ../shared/reference; TRAINYARD_REFERENCE names its folder";
  }
  std::ifstream index(*path);
  int read = 0;
  for (const json& entry : json::parse(index)) {
    const std::filesystem::path file = path->parent_path() / entry["file"].get<std::string>();
    EXPECT_EQ(parameter_count(read_huggingface_config(file)), entry["exact_parameters"].get<std::int64_t>()) << file;
    ++read;
  }
  EXPECT_GE(read, 27);
}

}  // namespace
}  // namespace trainyard
