#include "core/model/model_flops.h"

#include <gtest/gtest.h>

#include "core/model/huggingface.h"
#include "core/model/parameter.h"

namespace trainyard {
namespace {

ModelSpec stored(const std::string& file) {
  return read_huggingface_config(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/" + file);
}

// Everything but the embedding table (vocabulary x hidden) and the 2 L + 1 norms.
TEST(MatmulParameters, AreAllButEmbeddingAndNorms) {
  const ModelSpec model = stored("llama-3-8b.json");
  EXPECT_EQ(matmul_parameter_count(model), parameter_count(model) - 128256LL * 4096 - (2 * 32 + 1) * 4096);
}

TEST(MatmulParameters, CountATiedHeadToo) {
  const ModelSpec model = stored("llama-3.2-1b.json");
  EXPECT_EQ(matmul_parameter_count(model), parameter_count(model) - (2 * 16 + 1) * 2048);
}

// Llama 3 405B at 8,192 tokens: M = 405,853,388,800 - 128256 x 16384 - 253 x 16384 = 403,747,897,344;
// 6 M + 6 x 126 x 8192 x 16384 = 2.524e12 (causal), 6 M + twice that attention (full).
TEST(ModelFlops, AddAttentionToSixTimesTheParameters) {
  const ModelSpec model = stored("llama-3.1-405b.json");
  const double products = 6.0 * 403747897344.0;
  const double causal = 6.0 * 126 * 8192 * 16384;
  EXPECT_DOUBLE_EQ(model_flops_per_token(model, 8192, AttentionConvention::kCausal).si(), products + causal);
  EXPECT_DOUBLE_EQ(model_flops_per_token(model, 8192, AttentionConvention::kFull).si(), products + 2 * causal);
  EXPECT_NEAR((products + causal) / 1e12, 2.524, 0.001);
}

}  // namespace
}  // namespace trainyard
