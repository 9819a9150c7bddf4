#include "core/program/segment_shape.h"

#include "core/error.h"
#include "core/program/storage_type.h"

namespace trainyard {

namespace {

Elementwise pass_over(ElementwiseKernel kernel, std::int64_t elements, std::int64_t read, std::int64_t written,
                      DataType compute) {
  const std::int64_t size = size_of(storage_type(compute));
  return {kernel, elements, ByteCount(read * size), ByteCount(written * size)};
}

Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, Transpose transpose, DataType type,
             GradientOperand gradient = GradientOperand::kNone) {
  return {.m = m, .n = n, .k = k, .type = type, .transpose = transpose, .gradient = gradient};
}

Segment embedding(const SegmentShape& s) {
  const std::int64_t n = s.tokens * s.hidden;
  Segment segment{.kind = SegmentKind::kEmbedding};
  segment.forward = {pass_over(ElementwiseKernel::kEmbedForward, n, n, n, s.type)};
  segment.backward_weight = {pass_over(ElementwiseKernel::kEmbedBackward, n, 2 * n, n, s.type)};
  if (s.learned_positions) {
    const std::int64_t table = s.sequence * s.hidden;
    segment.forward.emplace_back(pass_over(ElementwiseKernel::kPositionForward, n, n + table, n, s.type));
    segment.backward_weight.emplace_back(pass_over(ElementwiseKernel::kPositionBackward, n, n, table, s.type));
  }
  return segment;
}

Segment norm(const SegmentShape& s, bool adds_branch, bool ends_stream) {
  const std::int64_t n = s.norm_tokens * s.hidden;
  const std::int64_t inputs = adds_branch ? 2 : 1;
  Segment segment{.kind = SegmentKind::kNorm, .adds_branch = adds_branch};
  segment.forward = {pass_over(ElementwiseKernel::kNormForward, n, inputs * n, inputs * n, s.type)};
  segment.backward_input = {pass_over(ElementwiseKernel::kNormBackward, n, (ends_stream ? 2 : 3) * n, n, s.type)};
  segment.backward_weight = {pass_over(ElementwiseKernel::kNormWeightBackward, n, 2 * n, s.hidden, s.type)};
  return segment;
}

Segment residual(const SegmentShape& s) {
  const std::int64_t n = s.norm_tokens * s.hidden;
  Segment segment{.kind = SegmentKind::kResidual};
  segment.forward = {pass_over(ElementwiseKernel::kAdd, n, 2 * n, n, s.type)};
  return segment;
}

Segment head(const SegmentShape& s) {
  const std::int64_t t = s.tokens, h = s.hidden, v = s.vocabulary;
  const DataType type = wide_type(s.type);
  Segment segment{.kind = SegmentKind::kHead};
  segment.forward = {product(t, v, h, Transpose::kNT, type),
                     pass_over(ElementwiseKernel::kLossStatistics, t * v, t * v, 3 * t, s.type)};
  segment.backward_input = {product(t, h, v, Transpose::kNN, type, GradientOperand::kA)};
  segment.backward_weight = {product(v, h, t, Transpose::kTN, type, GradientOperand::kA)};
  return segment;
}

// Outputs are cut over tp (tensor_sharding.h).
Segment merge(const SegmentShape& s) {
  const std::int64_t t = s.tokens, h = s.hidden, part = s.hidden / s.tensor_size;
  Segment segment{.kind = SegmentKind::kMerge};
  segment.forward = {product(t, part, 2 * h, Transpose::kNT, s.type)};
  segment.backward_input = {product(t, 2 * h, part, Transpose::kNN, s.type, GradientOperand::kA)};
  segment.backward_weight = {product(part, 2 * h, t, Transpose::kTN, s.type, GradientOperand::kA)};
  return segment;
}

Segment loss(const SegmentShape& s) {
  const std::int64_t n = s.tokens * s.vocabulary;
  Segment segment{.kind = SegmentKind::kLoss};
  segment.forward = {pass_over(ElementwiseKernel::kLossGradient, n, n, n, s.type)};
  return segment;
}

}  // namespace

SegmentShape segment_shape(const ModelSpec& model, const Layout& layout, std::int64_t sequence,
                           const LocalShape& local) {
  SegmentShape shape;
  shape.sequences = layout.micro_batch;
  shape.whole_sequence = sequence;
  shape.sequence = sequence / layout.context;
  shape.tokens = layout.micro_batch * shape.sequence;
  shape.norm_tokens = layout.sequence_parallel ? shape.tokens / layout.tensor : shape.tokens;
  shape.hidden = model.hidden;
  shape.heads = local.heads;
  shape.key_value_heads = local.key_value_heads;
  shape.head_size = model.head_size;
  shape.feed_forward = local.feed_forward;
  shape.vocabulary = local.vocabulary.size();
  shape.tensor_size = layout.tensor;
  shape.context_size = layout.context;
  shape.context_kind = layout.context_kind;
  shape.type = layout.compute_type;
  shape.inputs_first = is_gpt2_block(model);
  shape.learned_positions = model.position_encoding == PositionEncoding::kLearned;
  shape.adds_outputs = model.parallel_branches;
  shape.adds_input_gradients = model.shared_norm;
  return shape;
}

Segment make_merge_share(const SegmentShape& shape) {
  const std::int64_t n = shape.norm_tokens * shape.hidden;
  Segment segment{.kind = SegmentKind::kMerge};
  segment.forward = {pass_over(ElementwiseKernel::kCopy, n, n, n, shape.type)};
  return segment;
}

Segment make_segment(SegmentKind kind, const SegmentShape& shape, bool adds_branch, bool ends_stream) {
  switch (kind) {
    case SegmentKind::kEmbedding:
      return embedding(shape);
    case SegmentKind::kNorm:
      return norm(shape, adds_branch, ends_stream);
    case SegmentKind::kResidual:
      return residual(shape);
    case SegmentKind::kHead:
      return head(shape);
    case SegmentKind::kLoss:
      return loss(shape);
    case SegmentKind::kMerge:
      return merge(shape);
    default:
      break;
  }
  check(false, "a segment of a layer");
  return {};
}

}  // namespace trainyard
