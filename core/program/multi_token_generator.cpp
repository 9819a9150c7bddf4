#include "core/program/multi_token_generator.h"

namespace trainyard {

BufferId MultiTokenGenerator::forward_norm(const Place& place, ParameterKind weight, BufferId input, BufferId normed) {
  const std::int64_t moments = stage_.plan.model.normalization == Normalization::kLayer ? 2 : 1;
  const BufferId rstd = stage_.activation(BufferContent::kRstd, moments * stage_.segments.shape.norm_tokens);
  stage_.compute(InstructionKind::kForward, *stage_.segments.merge_norm, place,
                 {input, stage_.weights_of(place.layer, weight)}, {normed, rstd});
  return rstd;
}

BufferId MultiTokenGenerator::forward(const Place& place, BufferId hidden, BufferId embedded, BlockStash& kept) {
  const SegmentShape& s = stage_.segments.shape;
  kept.hidden = hidden;
  kept.embedded = embedded;
  kept.normed = stage_.activation(BufferContent::kNormed, 2 * stage_.stream_elements());
  kept.hidden_rstd = forward_norm(place, ParameterKind::kMultiTokenNorm, hidden, kept.normed);
  kept.embedded_rstd = forward_norm(place, ParameterKind::kEmbeddingNorm, embedded, kept.normed);
  const BufferId input = stage_.gather_shares(kept.normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kMultiTokenProjection);
  kept.merged = stage_.activation(BufferContent::kResidual, s.tokens * s.hidden / s.tensor_size);
  stage_.compute(InstructionKind::kForward, *stage_.segments.merge, place, {input, weights}, {kept.merged});
  if (stage_.layout.tensor == 1) {
    return kept.merged;
  }
  const BufferId whole = stage_.activation(BufferContent::kResidual, stage_.full_elements());
  stage_.communicate(InstructionKind::kGather, Stream::kTensor, place, {kept.merged}, {whole},
                     stage_.tensor_collective(CommunicationKind::kAllGather, stage_.full_elements()));
  kept.merged = whole;
  if (stage_.layout.sequence_parallel) {
    kept.merged = stage_.activation(BufferContent::kResidual, stage_.stream_elements());
    stage_.compute(InstructionKind::kForward, *stage_.segments.merge_share, place, {whole}, {kept.merged});
  }
  return kept.merged;
}

BufferId MultiTokenGenerator::backward_norm(const Place& place, ParameterKind weight, BufferId normed_grad,
                                            BufferId input, BufferId rstd) {
  const SegmentId norm = *stage_.segments.merge_norm;
  const BufferId gradient =
      stage_.activation(BufferContent::kResidualGrad, stage_.stream_elements(), MemoryCause::kGradientFlow);
  stage_.compute(InstructionKind::kBackwardInput, norm, place,
                 {normed_grad, input, rstd, stage_.weights_of(place.layer, weight)}, {gradient});
  weights_.add(place, [this, place, norm, weight, normed_grad, input, rstd] {
    stage_.weight_gradient(norm, place, weight, {normed_grad, input, rstd});
  });
  return gradient;
}

MultiTokenGenerator::Gradients MultiTokenGenerator::backward(const Place& place, BufferId gradient,
                                                             const BlockStash& kept) {
  const auto flow = MemoryCause::kGradientFlow;
  const SegmentId merge = *stage_.segments.merge;
  // A rank's columns are a view of the whole.
  const BufferId out_grad = stage_.gather_shares(gradient, place, BufferContent::kResidualGrad, flow);
  const BufferId partial = stage_.activation(BufferContent::kNormedGrad, 2 * stage_.full_elements(), flow);
  stage_.compute(InstructionKind::kBackwardInput, merge, place,
                 {out_grad, stage_.weights_of(place.layer, ParameterKind::kMultiTokenProjection)}, {partial});
  const BufferId normed_grad = stage_.reduce_partial(partial, place, BufferContent::kNormedGrad, flow);
  weights_.add(place, [this, place, merge, out_grad, normed_share = kept.normed] {
    const BufferId normed = stage_.gather_shares(normed_share, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(merge, place, ParameterKind::kMultiTokenProjection, {out_grad, normed});
  });
  const BufferId embedded =
      backward_norm(place, ParameterKind::kEmbeddingNorm, normed_grad, kept.embedded, kept.embedded_rstd);
  const BufferId hidden =
      backward_norm(place, ParameterKind::kMultiTokenNorm, normed_grad, kept.hidden, kept.hidden_rstd);
  return {hidden, embedded};
}

}  // namespace trainyard
