#include "core/model/parameter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/model/huggingface.h"

namespace trainyard {
namespace {

struct Known {
  const char* name;
  std::int64_t parameters;
  std::int64_t active;  // without the experts that a token doesn't visit
};

ModelSpec stored(const std::string& name) {
  return read_huggingface_config(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/" + name + ".json");
}

// Counts as published (safetensors totals, presets) or from the published shape; models/llm/README.md names each.
class PublishedCount : public testing::TestWithParam<Known> {};

TEST_P(PublishedCount, IsOursExactly) {
  const ModelSpec model = stored(GetParam().name);
  EXPECT_EQ(parameter_count(model), GetParam().parameters);
  EXPECT_EQ(active_parameter_count(model), GetParam().active);
}

// Counted from the shape of layers, and from the list of tensors by name: two ways to the same number.
TEST_P(PublishedCount, IsTheSumOverTensors) {
  const ModelSpec model = stored(GetParam().name);
  std::int64_t sum = 0;
  std::set<std::string> names;
  const std::vector<Parameter> all = parameters(model);
  for (const Parameter& parameter : all) {
    sum += element_count(parameter);
    names.insert(parameter.name);
  }
  EXPECT_EQ(sum, GetParam().parameters);
  EXPECT_EQ(names.size(), all.size()) << "every name once";
}

INSTANTIATE_TEST_SUITE_P(
    Models, PublishedCount,
    testing::Values(Known{"gpt2", 124439808, 124439808}, Known{"gpt2-medium", 354823168, 354823168},
                    Known{"gpt2-xl", 1557611200, 1557611200}, Known{"gpt3-175b", 174604259328, 174604259328},
                    Known{"llama-2-7b", 6738415616, 6738415616}, Known{"llama-2-70b", 68976648192, 68976648192},
                    Known{"llama-3-8b", 8030261248, 8030261248}, Known{"llama-3-70b", 70553706496, 70553706496},
                    Known{"llama-3.1-405b", 405853388800, 405853388800}, Known{"llama-3.2-1b", 1235814400, 1235814400},
                    Known{"mistral-7b-v0.1", 7241732096, 7241732096},
                    Known{"mixtral-8x7b-v0.1", 46702792704, 12879925248},
                    Known{"mixtral-8x22b-v0.1", 140620634112, 39152031744}, Known{"qwen2-7b", 7615616512, 7615616512},
                    Known{"qwen2.5-72b", 72706203648, 72706203648}, Known{"qwen3-8b", 8190735360, 8190735360},
                    Known{"qwen3-30b-a3b", 30532122624, 3353032704},
                    Known{"qwen3-235b-a22b", 235093634560, 22190763520},
                    Known{"deepseek-v2-lite", 15706484224, 2661150208}, Known{"deepseek-v3", 671026419200, 37552297472},
                    Known{"gpt-oss-20b", 20914757184, 4187440704}, Known{"nemotron-4-15b", 15628775424, 15628775424},
                    Known{"nemotron-4-340b", 341029195776, 341029195776},
                    Known{"bloom-176b", 176247271424, 176247271424}, Known{"opt-175b", 174604468224, 174604468224},
                    Known{"falcon-7b", 6921720704, 6921720704}, Known{"phi-3-mini-4k", 3821079552, 3821079552}),
    [](const testing::TestParamInfo<Known>& known) {
      std::string name = known.param.name;
      std::ranges::replace_if(
          name, [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

// 2 x 256 x 256 embedding and head; 4 x (2 x 256 norms + 256 x 256 q + 2 x 128 x 256 k,v + 256 x 256 o
// + 3 x 256 x 704 mlp); 256 final norm.
TEST(Parameters, OfTheDemoModelAreCountedByHand) {
  const ModelSpec model = stored("demo-llama");
  EXPECT_EQ(parameter_count(model), 131072 + 4 * (512 + 65536 + 65536 + 65536 + 540672) + 256);
}

TEST(Parameters, ComeInTheOrderOfTheForwardPassWithHuggingFaceNames) {
  const ModelSpec model = stored("demo-llama");
  const std::vector<Parameter> all = parameters(model);
  ASSERT_EQ(all.size(), 1 + 4 * 9 + 2U);
  EXPECT_EQ(all.front().name, "model.embed_tokens.weight");
  EXPECT_EQ(all[2].name, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(all[3].shape, (std::vector<std::int64_t>{128, 256}));  // 4 key heads of 32
  EXPECT_EQ(all[10].name, "model.layers.1.input_layernorm.weight");
  EXPECT_EQ(all[10].layer, 1);
  EXPECT_EQ(all.back().name, "lm_head.weight");
}

// DeepSeek-V3's checkpoint has 684,489,845,504 values besides its scales, of which the main model's are 671,026,419,200
// and a second embedding and head, 2 x 129280 x 7168, are stored again.
TEST(Parameters, OfMultiTokenBlocksAreThoseOfTheCheckpoint) {
  const ModelSpec model = stored("deepseek-v3");
  const std::int64_t own = 684489845504 - 671026419200 - 2LL * 129280 * 7168;
  EXPECT_EQ(own, 11610068224);
  EXPECT_EQ(multi_token_parameter_count(model), own);
  std::int64_t sum = 0;
  for (const Parameter& parameter : multi_token_parameters(model)) {
    sum += element_count(parameter);
    EXPECT_EQ(parameter.layer, 61);
    EXPECT_TRUE(parameter.name.starts_with("model.layers.61."));
  }
  EXPECT_EQ(sum, own);
}

TEST(Parameters, AreNamedAsEachFamilyStoresThem) {
  const auto has = [](const char* model, const char* name, std::vector<std::int64_t> shape) {
    const std::vector<Parameter> all = parameters(stored(model));
    const auto found = std::ranges::find(all, std::string(name), &Parameter::name);
    ASSERT_NE(found, all.end()) << name;
    EXPECT_EQ(found->shape, shape) << name;
  };
  has("gpt2", "transformer.wpe.weight", {1024, 768});
  has("gpt2", "transformer.h.11.attn.c_attn.weight", {768, 2304});
  has("gpt2", "transformer.h.0.mlp.c_fc.bias", {3072});
  has("bloom-176b", "transformer.word_embeddings_layernorm.bias", {14336});
  has("bloom-176b", "transformer.h.69.self_attention.query_key_value.weight", {3 * 14336, 14336});
  has("opt-175b", "model.decoder.embed_positions.weight", {2050, 12288});
  has("opt-175b", "model.decoder.layers.0.fc2.bias", {12288});
  has("falcon-7b", "transformer.h.0.self_attention.query_key_value.weight", {73 * 64, 4544});
  has("phi-3-mini-4k", "model.layers.0.mlp.gate_up_proj.weight", {2 * 8192, 3072});
  has("mixtral-8x7b-v0.1", "model.layers.0.block_sparse_moe.experts.7.w2.weight", {4096, 14336});
  has("qwen2-7b", "model.layers.0.self_attn.k_proj.bias", {4 * 128});
  has("qwen3-8b", "model.layers.35.self_attn.q_norm.weight", {128});
  has("qwen3-30b-a3b", "model.layers.0.mlp.experts.127.up_proj.weight", {768, 2048});
  has("deepseek-v3", "model.layers.0.mlp.down_proj.weight", {7168, 18432});
  has("deepseek-v3", "model.layers.3.mlp.gate.e_score_correction_bias", {256});
  has("deepseek-v3", "model.layers.60.self_attn.kv_a_proj_with_mqa.weight", {576, 7168});
  has("deepseek-v2-lite", "model.layers.1.mlp.shared_experts.gate_proj.weight", {2816, 2048});
  has("gpt-oss-20b", "model.layers.0.mlp.experts.gate_up_proj", {32, 2880, 5760});
  has("gpt-oss-20b", "model.layers.0.self_attn.sinks", {64});
  has("nemotron-4-15b", "model.layers.0.mlp.up_proj.weight", {24576, 6144});
  has("nemotron-4-15b", "model.norm.bias", {6144});
}

TEST(Parameters, HaveNoHeadWhereEmbeddingsAreTied) {
  EXPECT_EQ(parameters(stored("llama-3.2-1b")).back().kind, ParameterKind::kFinalNorm);
}

}  // namespace
}  // namespace trainyard
