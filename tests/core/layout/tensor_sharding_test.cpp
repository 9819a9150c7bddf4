#include "core/layout/tensor_sharding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/model/layer_shape.h"
#include "core/plan/shipped.h"

namespace trainyard {
namespace {

// 12 query heads share 4 key heads; feed-forward and vocabulary are prime, so that they never divide.
ModelSpec small_model() {
  ModelSpec model;
  model.layers = 1;
  model.hidden = 48;
  model.heads = 12;
  model.key_value_heads = 4;
  model.head_size = 8;
  model.feed_forward = 101;
  model.vocabulary = 257;
  return model;
}

Parameter parameter(ParameterKind kind, std::vector<std::int64_t> shape) {
  Parameter result;
  result.kind = kind;
  result.shape = std::move(shape);
  return result;
}

std::vector<Parameter> cut_parameters() {
  return {parameter(ParameterKind::kQuery, {96, 48}), parameter(ParameterKind::kKey, {32, 48}),
          parameter(ParameterKind::kValue, {32, 48}), parameter(ParameterKind::kOutput, {48, 96}),
          parameter(ParameterKind::kGate, {101, 48}), parameter(ParameterKind::kUp, {101, 48}),
          parameter(ParameterKind::kDown, {48, 101}), parameter(ParameterKind::kEmbedding, {257, 48}),
          parameter(ParameterKind::kHead, {257, 48})};
}

Mesh tensor_mesh(int tp) {
  Layout layout;
  layout.tensor = tp;
  return Mesh(layout);
}

TEST(TensorSharding, EachParameterHasTheShapeOfItsRanksProducts) {
  const ModelSpec model = small_model();
  for (const int tp : {1, 2, 4}) {
    const Mesh mesh = tensor_mesh(tp);
    for (int i = 0; i < tp; ++i) {
      const LocalShape shape = local_shape(model, tp, i);
      Coordinates at;
      at.tensor = i;
      const auto rows = [&](const Parameter& p) { return local_ranges(tensor_sharding(model, p), mesh, at)[0].size(); };
      const auto columns = [&](const Parameter& p) {
        return local_ranges(tensor_sharding(model, p), mesh, at)[1].size();
      };
      const std::vector<Parameter> all = cut_parameters();
      EXPECT_EQ(rows(all[0]), shape.heads * 8);
      EXPECT_EQ(rows(all[1]), shape.key_value_heads * 8);
      EXPECT_EQ(rows(all[2]), shape.key_value_heads * 8);
      EXPECT_EQ(columns(all[3]), shape.heads * 8);
      EXPECT_EQ(rows(all[4]), shape.feed_forward);
      EXPECT_EQ(rows(all[5]), shape.feed_forward);
      EXPECT_EQ(columns(all[6]), shape.feed_forward);
      EXPECT_EQ(local_ranges(tensor_sharding(model, all[7]), mesh, at)[0], shape.vocabulary);
      EXPECT_EQ(local_ranges(tensor_sharding(model, all[8]), mesh, at)[0], shape.vocabulary);
      // The other dimension is whole.
      EXPECT_EQ(columns(all[0]), 48);
      EXPECT_EQ(rows(all[3]), 48);
      EXPECT_EQ(rows(all[6]), 48);
    }
  }
}

TEST(TensorSharding, TheRanksSharesAddUpToTheModel) {
  const ModelSpec model = small_model();
  for (const int tp : {1, 2, 4}) {
    const Mesh mesh = tensor_mesh(tp);
    for (const Parameter& p : cut_parameters()) {
      std::int64_t elements = 0;
      for (int i = 0; i < tp; ++i) {
        Coordinates at;
        at.tensor = i;
        elements += local_elements(tensor_sharding(model, p), mesh, at);
      }
      EXPECT_EQ(elements, p.shape[0] * p.shape[1]) << static_cast<int>(p.kind) << " tp " << tp;
    }
  }
}

TEST(TensorSharding, QueryHeadsStayWithTheKeyHeadTheyShare) {
  // 12 query heads over 4 key heads: 3 each. tp 4 index 2 has key head 2 and query heads 6, 7, 8.
  const ModelSpec model = small_model();
  Coordinates at;
  at.tensor = 2;
  const Mesh mesh = tensor_mesh(4);
  const std::vector<Parameter> all = cut_parameters();
  EXPECT_EQ(local_ranges(tensor_sharding(model, all[1]), mesh, at)[0], (IndexRange{2 * 8, 3 * 8}));
  EXPECT_EQ(local_ranges(tensor_sharding(model, all[0]), mesh, at)[0], (IndexRange{6 * 8, 9 * 8}));
  EXPECT_EQ(local_ranges(tensor_sharding(model, all[3]), mesh, at)[1], (IndexRange{6 * 8, 9 * 8}));
}

TEST(TensorSharding, NormsAreReplicated) {
  const ModelSpec model = small_model();
  for (const ParameterKind kind : {ParameterKind::kAttentionNorm, ParameterKind::kMlpNorm, ParameterKind::kFinalNorm}) {
    const ShardSpec spec = tensor_sharding(model, parameter(kind, {48}));
    EXPECT_TRUE(spec.replicated_over(Axis::kTensor));
    EXPECT_EQ(local_elements(spec, tensor_mesh(4), Coordinates{}), 48);
  }
}

TEST(TensorSharding, TensorParallelRanksMustDivideTheKeyHeads) {
  EXPECT_DEATH(local_shape(small_model(), 3, 0), "tp divides the key and value heads");
}

// Of a rank's slice of a layer, by the shape of its products: what tensor parallelism cuts, its part; the rest whole.
std::int64_t weights_by_shape(const LayerShape& layer, std::int64_t tp, std::int64_t etp) {
  const auto part = [](const ProductShape& product, std::int64_t degree) {
    return product.cut == TensorCut::kWhole ? product.weights() : product.weights() / degree;
  };
  std::int64_t total = part(layer.attention.output, tp);
  for (const ProductShape& product : layer.attention.inputs) {
    total += part(product, tp);
  }
  if (layer.feed_forward) {
    total += part(layer.feed_forward->up, tp) + part(layer.feed_forward->down, tp);
  }
  if (layer.experts) {
    total += layer.experts->router.weights() +
             layer.experts->experts * (part(layer.experts->expert.up, etp) + part(layer.experts->expert.down, etp));
    total += layer.experts->shared ? part(layer.experts->shared->up, tp) + part(layer.experts->shared->down, tp) : 0;
  }
  return total;
}

std::int64_t weights_by_tensor(const ModelSpec& model, int layer, const Mesh& mesh, const Coordinates& at) {
  std::int64_t total = 0;
  for (const Parameter& parameter : layer_parameters(model, layer)) {
    if (parameter.part == ParameterPart::kWeight && parameter.shape.size() > 1) {
      total += local_elements(tensor_sharding(model, parameter), mesh, at);
    }
  }
  return total;
}

// The layer's products and its tensors by name are cut alike, in every family; tp 1 and the most that key heads allow.
TEST(TensorSharding, CutsEveryFamilysTensorsAsItsProducts) {
  for (const ShippedFile& file : shipped_models()) {
    const ModelSpec model = open_model(std::string(file.name));
    const int most = static_cast<int>(std::min<std::int64_t>(std::gcd(model.key_value_heads, 4), 4));
    for (const int tp : {1, most}) {
      const Mesh mesh(Layout{.tensor = tp, .expert_tensor = tp});
      Coordinates at;
      at.tensor = tp - 1;
      at.expert_tensor = tp - 1;
      for (const std::int64_t layer : {std::int64_t{0}, model.layers - 1}) {
        EXPECT_EQ(weights_by_tensor(model, static_cast<int>(layer), mesh, at),
                  weights_by_shape(layer_shape(model, layer), tp, tp))
            << file.name << " layer " << layer << " tp " << tp;
      }
    }
  }
}

// GPT-OSS stacks its experts: expert-parallel ranks take whole ones of the first dimension, expert-tensor ranks cut
// each.
TEST(TensorSharding, CutsStackedExpertsOverBothAxes) {
  const ModelSpec model = open_model("gpt-oss-20b");
  const Mesh mesh(Layout{.tensor = 4, .data = 2, .expert = 4, .expert_tensor = 2});
  for (const Parameter& parameter : layer_parameters(model, 0)) {
    if (parameter.kind == ParameterKind::kExpertGateUp && parameter.part == ParameterPart::kWeight) {
      EXPECT_EQ(local_elements(tensor_sharding(model, parameter), mesh, Coordinates{}), 32 / 4 * 2880 * 5760 / 2);
    }
    if (parameter.kind == ParameterKind::kExpertDown && parameter.part == ParameterPart::kBias) {
      EXPECT_EQ(local_elements(tensor_sharding(model, parameter), mesh, Coordinates{}), 32 / 4 * 2880) << "added once";
    }
  }
}

}  // namespace
}  // namespace trainyard
