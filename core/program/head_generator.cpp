#include "core/program/head_generator.h"

#include "core/program/wire.h"

namespace trainyard {

namespace {

// The head is the model's, whichever norm comes before it.
Place of_model(const Place& place) { return {place.microbatch, place.chunk, std::nullopt}; }

}  // namespace

void HeadGenerator::forward(const Place& place, BufferId residual, std::optional<BufferId> branch, bool goes_on,
                            HeadStash& kept) {
  const SegmentShape& s = stage_.segments.shape;
  const Place model = of_model(place);
  kept.residual =
      layers_.forward_norm(InstructionKind::kForward, place, ParameterKind::kFinalNorm, residual, branch,
                           goes_on ? stage_.segments.norm : stage_.segments.final_norm, kept.normed, kept.rstd);
  const BufferId input = stage_.gather_shares(kept.normed, model, BufferContent::kNormed, MemoryCause::kWorkspace);
  kept.logits = stage_.activation(BufferContent::kLogits, s.tokens * s.vocabulary, MemoryCause::kLogits);
  const BufferId statistics = stage_.build.transient(BufferContent::kStatistics, MemoryCause::kWorkspace,
                                                     s.tensor_size * s.tokens * 3, DataType::kFp32);
  const BufferId weights = stage_.weights_of(std::nullopt, ParameterKind::kHead);
  stage_.compute(InstructionKind::kForward, stage_.segments.head, model, {input, *stage_.targets, weights},
                 {kept.logits, statistics});
  if (stage_.layout.tensor > 1) {
    const std::int64_t elements = s.tensor_size * s.tokens * 3;
    const auto algorithm = choose_algorithm(CommunicationKind::kAllGather, elements * 4, stage_.layout.tensor, false);
    stage_.communicate(
        InstructionKind::kGather, Stream::kTensor, model, {statistics}, {statistics},
        make_collective(CommunicationKind::kAllGather, algorithm, group_id(GroupKind::kTensor),
                        even_boundaries(elements, stage_.layout.tensor), stage_.key.tensor_index, DataType::kFp32));
  }
  stage_.compute(InstructionKind::kForward, stage_.segments.loss, model, {kept.logits, *stage_.targets, statistics},
                 {kept.logits, stage_.sums});
}

BufferId HeadGenerator::backward_products(const Place& place, const HeadStash& kept) {
  const BufferId weights = stage_.weights_of(std::nullopt, ParameterKind::kHead);
  const BufferId normed_grad =
      stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), MemoryCause::kGradientFlow);
  stage_.compute(InstructionKind::kBackwardInput, stage_.segments.head, place, {kept.logits, weights}, {normed_grad});
  const BufferId whole =
      stage_.reduce_partial(normed_grad, place, BufferContent::kNormedGrad, MemoryCause::kGradientFlow);
  weights_.add(place, [this, place, kept] {
    const BufferId normed = stage_.gather_shares(kept.normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(stage_.segments.head, place, ParameterKind::kHead, {kept.logits, normed});
  });
  return whole;
}

BufferId HeadGenerator::backward(const Place& place, std::optional<BufferId> behind, const HeadStash& kept) {
  const BufferId normed_grad = backward_products(of_model(place), kept);
  const BufferId norm_weights = stage_.weights_of(place.layer, ParameterKind::kFinalNorm);
  const SegmentId norm = behind ? stage_.segments.norm : stage_.segments.final_norm;
  const BufferId gradient =
      stage_.activation(BufferContent::kResidualGrad, stage_.stream_elements(), MemoryCause::kGradientFlow);
  std::vector<BufferId> reads{normed_grad, kept.residual, kept.rstd};
  if (behind) {
    reads.push_back(*behind);
  }
  reads.push_back(norm_weights);
  stage_.compute(InstructionKind::kBackwardInput, norm, place, std::move(reads), {gradient});
  weights_.add(place, [this, place, norm, normed_grad, kept] {
    stage_.weight_gradient(norm, place, ParameterKind::kFinalNorm, {normed_grad, kept.residual, kept.rstd});
  });
  return gradient;
}

}  // namespace trainyard
