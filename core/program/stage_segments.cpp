// Segments of a stage, of each kind of layer once.
#include "core/layout/tensor_sharding.h"
#include "core/model/layer_shape.h"
#include "core/program/role_builder.h"
#include "core/program/stage_generator.h"

namespace trainyard {

namespace {

LayerSegments layer_segments(const Plan& plan, const LayerShape& layer, const SegmentShape& shape, int tensor_index,
                             SegmentTable& table) {
  LayerSegments made;
  made.sizes = layer_sizes(plan.model, layer, plan.layout, tensor_index, shape.norm_tokens);
  const auto intern = [&](SegmentKind kind, bool first_block = true) {
    return table.intern(make_layer_segment(kind, shape, made.sizes, first_block));
  };
  if (plan.layout.context == 1) {
    made.attention = intern(SegmentKind::kAttention);
  } else {
    made.query_key_value = intern(SegmentKind::kQueryKeyValue);
    made.own_scores = intern(SegmentKind::kScores);
    made.other_scores = intern(SegmentKind::kScores, false);
    made.projection = intern(SegmentKind::kProjection);
  }
  if (made.sizes.feed_forward) {
    made.mlp = intern(SegmentKind::kMlp);
  }
  if (made.sizes.experts) {
    made.router = intern(SegmentKind::kRouter);
    made.experts = intern(SegmentKind::kExperts);
    made.combine = intern(SegmentKind::kCombine);
  }
  return made;
}

}  // namespace

StageSegments stage_segments(const Plan& plan, int tensor_index, SegmentTable& table) {
  StageSegments made;
  made.shape = segment_shape(plan.model, plan.layout, plan.training.sequence,
                             local_shape(plan.model, plan.layout.tensor, tensor_index));
  const auto intern = [&](SegmentKind kind, bool adds_branch = false, bool ends_stream = false) {
    return table.intern(make_segment(kind, made.shape, adds_branch, ends_stream));
  };
  made.embedding = intern(SegmentKind::kEmbedding);
  made.first_norm = intern(SegmentKind::kNorm);
  made.norm = intern(SegmentKind::kNorm, true);
  made.final_norm = intern(SegmentKind::kNorm, true, true);
  const ModelShape layers = model_shape(plan.model);
  for (const LayerShape& layer : layers.kinds) {
    made.kinds.push_back(layer_segments(plan, layer, made.shape, tensor_index, table));
  }
  made.kind_of_layer = layers.kind_of_layer;
  if (layers.multi_token) {
    made.kind_of_layer.insert(made.kind_of_layer.end(), static_cast<std::size_t>(layers.multi_token->blocks),
                              layers.kind_of_layer.back());
    made.merge_norm = intern(SegmentKind::kNorm, false, true);
    made.merge = intern(SegmentKind::kMerge);
    made.merge_share = table.intern(make_merge_share(made.shape));
  }
  made.residual = intern(SegmentKind::kResidual);
  made.head = intern(SegmentKind::kHead);
  made.loss = intern(SegmentKind::kLoss);
  return made;
}

}  // namespace trainyard
