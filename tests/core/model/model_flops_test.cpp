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

// NVIDIA Megatron-Bridge, performance summaries 25.09 to 26.08: TFLOP/s over tokens/s of each GPU, causal attention.
// Its DeepSeek-V3 rows train one multi-token block; GPT-OSS as counted since release 26.06. We count routers too.
TEST(ModelFlops, AgreeWithWhatMegatronBridgeCounts) {
  const auto giga = [](const ModelSpec& model, std::int64_t sequence) {
    return model_flops_per_token(model, sequence, AttentionConvention::kCausal).si() / 1e9;
  };
  EXPECT_NEAR(giga(stored("llama-3-8b.json"), 8192) / 51.46, 1.0, 0.005);
  EXPECT_NEAR(giga(stored("llama-3.1-405b.json"), 8192) / 2521.3, 1.0, 0.005);
  EXPECT_NEAR(giga(stored("qwen3-235b-a22b.json"), 4096) / 147.94, 1.0, 0.005);
  EXPECT_NEAR(giga(stored("qwen3-30b-a3b.json"), 4096) / 22.99, 1.0, 0.005);
  EXPECT_NEAR(giga(stored("deepseek-v3.json"), 4096) / 259.84, 1.0, 0.005);
  ModelSpec gpt_oss_120b = stored("gpt-oss-20b.json");
  gpt_oss_120b.layers = 36;
  gpt_oss_120b.experts->experts = 128;
  EXPECT_NEAR(giga(gpt_oss_120b, 4096) / 32.6, 1.0, 0.005);
}

// Of Llama 3 8B at 8,192 tokens, 57.9 GFLOP a token with the whole square of scores and 51.5 with half of it.
TEST(ModelFlops, DifferByTwelvePerCentBetweenConventions) {
  const ModelSpec model = stored("llama-3-8b.json");
  EXPECT_NEAR(model_flops_per_token(model, 8192, AttentionConvention::kFull).si() / 1e9, 57.9, 0.05);
  EXPECT_NEAR(model_flops_per_token(model, 8192, AttentionConvention::kCausal).si() / 1e9, 51.5, 0.05);
}

// Mistral 7B sees the last 4,096 tokens: of 8,192, w - w^2 / (2 s) = 3,072 keys on average, not 4,096.
TEST(ModelFlops, CountTheKeysInTheWindow) {
  ModelSpec model = stored("mistral-7b-v0.1.json");
  const double windowed = model_flops_per_token(model, 8192, AttentionConvention::kCausal).si();
  model.sliding_window.reset();
  const double whole = model_flops_per_token(model, 8192, AttentionConvention::kCausal).si();
  EXPECT_DOUBLE_EQ(whole - windowed, 12.0 * 32 * 4096 * (4096 - 3072));  // 6 (q + v) h of 32 layers
}

// A multi-token block: its layer, a product of 2 x 7168 x 7168, and the head once more.
TEST(MatmulParameters, CountWhatAMultiTokenBlockAdds) {
  const ModelSpec model = stored("deepseek-v3.json");
  ModelSpec without = model;
  without.multi_token_layers = 0;
  const std::int64_t added = matmul_parameter_count(model) - matmul_parameter_count(without);
  const std::int64_t attention =
      7168LL * 1536 + 1536LL * 128 * 192 + 7168LL * 576 + 512LL * 128 * 256 + 128LL * 128 * 7168;
  const std::int64_t experts = 7168LL * 256 + (8 + 1) * 3LL * 7168 * 2048;
  EXPECT_EQ(added, attention + experts + 2LL * 7168 * 7168 + 129280LL * 7168);
}

}  // namespace
}  // namespace trainyard
