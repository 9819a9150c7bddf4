#include "core/model/layer_shape.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

ModelSpec llama() {
  ModelSpec model;
  model.layers = 6;
  model.hidden = 64;
  model.feed_forward = 96;
  model.heads = 4;
  model.key_value_heads = 2;
  model.head_size = 16;
  model.vocabulary = 256;
  model.positions = 128;
  return model;
}

// q 4 x 16, k and v 2 x 16 each: 128 x 64; output 64 x 64; gate and up 2 x 96 x 64; down 64 x 96; two norms of 64.
TEST(LayerShape, OfALlamaIsCountedByHand) {
  const LayerShape layer = layer_shape(llama(), 0);
  ASSERT_EQ(layer.attention.inputs.size(), 1U);
  EXPECT_EQ(layer.attention.inputs[0].outputs, 128);
  EXPECT_EQ(layer.feed_forward->up.outputs, 192);
  EXPECT_EQ(active_weight_count(layer), 128 * 64 + 64 * 64 + 3 * 96 * 64);
  EXPECT_EQ(parameter_count(layer), active_weight_count(layer) + 2 * 64);
  EXPECT_EQ(active_parameter_count(layer), parameter_count(layer));
}

// Router 8 x 64, one expert 3 x 32 x 64, the shared two as one of width 64.
TEST(LayerShape, OfExpertsCountsTheVisitedOnes) {
  ModelSpec model = llama();
  model.experts = MixtureOfExperts{
      .experts = 8, .experts_per_token = 2, .expert_feed_forward = 32, .shared_experts = 2, .first_dense_layers = 1};
  EXPECT_TRUE(layer_shape(model, 0).feed_forward.has_value());
  const LayerShape layer = layer_shape(model, 1);
  ASSERT_TRUE(layer.experts.has_value());
  EXPECT_FALSE(layer.feed_forward.has_value());
  EXPECT_EQ(layer.experts->shared->width, 64);
  const std::int64_t expert = 3 * 32 * 64;
  const std::int64_t attention = 128 * 64 + 64 * 64 + 2 * 64;
  EXPECT_EQ(parameter_count(layer), attention + 8 * 64 + 8 * expert + 2 * expert);
  EXPECT_EQ(active_parameter_count(layer), attention + 8 * 64 + 2 * expert + 2 * expert);
}

// Queries through a latent of 24, keys and values through 32 and a shared rotary key of 8; heads of 12 + 8, values
// of 10.
TEST(LayerShape, OfLatentAttentionIsCountedByHand) {
  ModelSpec model = llama();
  model.head_size = 20;
  model.value_head_size = 10;
  model.latent_attention = LatentAttention{.query_rank = 24, .key_value_rank = 32, .no_rope_size = 12, .rope_size = 8};
  const AttentionShape attention = layer_shape(model, 0).attention;
  ASSERT_EQ(attention.inputs.size(), 4U);
  EXPECT_EQ(attention.inputs[0].weights(), 24 * 64);
  EXPECT_EQ(attention.inputs[1].weights(), 80 * 24);
  EXPECT_EQ(attention.inputs[2].weights(), (32 + 8) * 64);
  EXPECT_EQ(attention.inputs[3].weights(), 4 * (12 + 10) * 32);
  EXPECT_EQ(attention.output.weights(), 64 * 40);
  EXPECT_EQ(attention.norm_elements, 24 + 32);
  EXPECT_EQ(attention.key_value_elements, 40);
}

TEST(ModelShape, GathersLayersThatAreAlike) {
  ModelSpec model = llama();
  EXPECT_EQ(model_shape(model).kinds.size(), 1U);
  EXPECT_EQ(model_shape(model).count, std::vector<std::int64_t>{6});
  model.sliding_window = SlidingWindow{.window = 32, .full_every = 3};  // layers 2 and 5 see everything
  const ModelShape shape = model_shape(model);
  ASSERT_EQ(shape.kinds.size(), 2U);
  EXPECT_EQ(shape.count, (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(shape.layer(1).attention.window, 32);
  EXPECT_FALSE(shape.layer(2).attention.window.has_value());
}

// Query i of s sees min(i, w) keys: w (w + 1) / 2 + (s - w) w in all; with the diagonal counted half,
// w^2 / 2 + (s - w) w = s (w - w^2 / (2 s)).
TEST(MeanKeys, FollowTheWindow) {
  AttentionShape attention;
  EXPECT_DOUBLE_EQ(mean_keys(attention, 100), 50.0);
  attention.window = 100;
  EXPECT_DOUBLE_EQ(mean_keys(attention, 100), 50.0);
  attention.window = 20;
  EXPECT_DOUBLE_EQ(mean_keys(attention, 100), (20 * 20 / 2.0 + 80 * 20) / 100);
}

}  // namespace
}  // namespace trainyard
