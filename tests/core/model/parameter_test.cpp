#include "core/model/parameter.h"

#include <gtest/gtest.h>

#include <set>

#include "core/model/huggingface.h"

namespace trainyard {
namespace {

struct Known {
  const char* file;
  std::int64_t parameters;
};

ModelSpec stored(const std::string& file) {
  return read_huggingface_config(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/" + file);
}

// Counts as published; models/llm/README.md names the source of each.
class PublishedCount : public testing::TestWithParam<Known> {};

TEST_P(PublishedCount, IsOursExactly) {
  const ModelSpec model = stored(GetParam().file);
  EXPECT_EQ(parameter_count(model), GetParam().parameters);
  std::int64_t sum = 0;
  std::set<std::string> names;
  for (const Parameter& parameter : parameters(model)) {
    sum += element_count(parameter);
    names.insert(parameter.name);
  }
  EXPECT_EQ(sum, GetParam().parameters);
  EXPECT_EQ(names.size(), parameters(model).size()) << "every name once";
}

INSTANTIATE_TEST_SUITE_P(Llama, PublishedCount,
                         testing::Values(Known{"llama-2-7b.json", 6738415616}, Known{"llama-2-70b.json", 68976648192},
                                         Known{"llama-3-8b.json", 8030261248}, Known{"llama-3-70b.json", 70553706496},
                                         Known{"llama-3.1-405b.json", 405853388800},
                                         Known{"llama-3.2-1b.json", 1235814400}));

// 2 x 256 x 256 embedding and head; 4 x (2 x 256 norms + 256 x 256 q + 2 x 128 x 256 k,v + 256 x 256 o
// + 3 x 256 x 704 mlp); 256 final norm.
TEST(Parameters, OfTheDemoModelAreCountedByHand) {
  const ModelSpec model = stored("demo-llama.json");
  EXPECT_EQ(parameter_count(model), 131072 + 4 * (512 + 65536 + 65536 + 65536 + 540672) + 256);
}

TEST(Parameters, ComeInTheOrderOfTheForwardPassWithHuggingFaceNames) {
  const ModelSpec model = stored("demo-llama.json");
  const std::vector<Parameter> all = parameters(model);
  ASSERT_EQ(all.size(), 1 + 4 * 9 + 2U);
  EXPECT_EQ(all.front().name, "model.embed_tokens.weight");
  EXPECT_EQ(all[2].name, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(all[3].shape, (std::vector<std::int64_t>{128, 256}));  // 4 key heads of 32
  EXPECT_EQ(all[10].name, "model.layers.1.input_layernorm.weight");
  EXPECT_EQ(all[10].layer, 1);
  EXPECT_EQ(all.back().name, "lm_head.weight");
}

TEST(Parameters, HaveNoHeadWhereEmbeddingsAreTied) {
  EXPECT_EQ(parameters(stored("llama-3.2-1b.json")).back().kind, ParameterKind::kFinalNorm);
}

}  // namespace
}  // namespace trainyard
