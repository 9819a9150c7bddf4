// A layer's mixture of experts: routing, the tokens' way to their experts and back, and the gradients'
// (LayerGenerator).
#include "core/program/layer_generator.h"

namespace trainyard {

// All that this rank's tokens send: top-k copies each. How many reach a rank is known only when they have been routed.
Communication LayerGenerator::exchange(const LocalExperts& sizes) const {
  const std::int64_t elements = sizes.routed() * stage_.segments.shape.hidden;
  Communication c =
      stage_.group_collective(GroupKind::kExpert, stage_.layout.expert, CommunicationKind::kAllToAll, elements);
  c.extent.exact = false;
  c.extent.expected = ByteCount(c.payload.value() / sizes.each * sizes.busiest);
  c.extent.maximum = ByteCount(c.payload.value() * stage_.layout.expert);
  return c;
}

BufferId LayerGenerator::send_to_experts(const Place& place, BufferId from, BufferContent content) {
  const LocalExperts& sizes = of(place).sizes.experts.value();
  const std::int64_t hidden = stage_.segments.shape.hidden;
  const int pieces = stage_.layout.expert_tensor;
  BufferId there = from;
  if (stage_.layout.expert > 1) {
    there = stage_.activation(content, sizes.received() * hidden / pieces);
    stage_.communicate(InstructionKind::kAllToAll, Stream::kTensor, place, {from}, {there}, exchange(sizes));
  }
  if (pieces > 1) {
    const BufferId part = there;
    there = stage_.activation(content, sizes.received() * hidden);
    stage_.communicate(InstructionKind::kGather, Stream::kTensor, place, {part}, {there},
                       stage_.group_collective(GroupKind::kExpertTensor, pieces, CommunicationKind::kAllGather,
                                               sizes.received() * hidden));
  }
  return there;
}

BufferId LayerGenerator::send_to_tokens(const Place& place, BufferId from, BufferContent content) {
  const LocalExperts& sizes = of(place).sizes.experts.value();
  const std::int64_t hidden = stage_.segments.shape.hidden;
  const int pieces = stage_.layout.expert_tensor;
  BufferId back = from;
  if (pieces > 1) {
    back = stage_.activation(content, sizes.received() * hidden / pieces);
    stage_.communicate(InstructionKind::kReduce, Stream::kTensor, place, {from}, {back},
                       stage_.group_collective(GroupKind::kExpertTensor, pieces, CommunicationKind::kReduceScatter,
                                               sizes.received() * hidden));
  }
  if (stage_.layout.expert > 1) {
    const BufferId there = back;
    back = stage_.activation(content, sizes.routed() * hidden);
    stage_.communicate(InstructionKind::kAllToAll, Stream::kTensor, place, {there}, {back}, exchange(sizes));
  }
  return back;
}

BufferId LayerGenerator::forward_experts(InstructionKind kind, const Place& place, LayerStash& kept) {
  const LayerSegments& segments = of(place);
  const LocalExperts& sizes = segments.sizes.experts.value();
  const std::int64_t hidden = stage_.segments.shape.hidden;
  kept.routing = stage_.activation(BufferContent::kRouting, sizes.routed());
  const BufferId ordered = stage_.activation(BufferContent::kRouted, sizes.routed() * hidden);
  stage_.compute(kind, *segments.router, place,
                 {kept.mlp_normed, stage_.weights_of(place.layer, ParameterKind::kRouter)}, {*kept.routing, ordered});
  kept.routed = send_to_experts(place, ordered, BufferContent::kRouted);
  std::optional<BufferId> shared;
  if (segments.mlp) {
    shared = forward_mlp(kind, place, kept);
  }
  kept.expert_gate_up = stage_.activation(BufferContent::kGateUp, sizes.received() * sizes.expert.up_width());
  kept.expert_activated = stage_.activation(BufferContent::kActivated, sizes.received() * sizes.expert.width);
  const BufferId made = stage_.activation(BufferContent::kRouted, sizes.received() * hidden);
  stage_.compute(kind, *segments.experts, place,
                 {*kept.routed, stage_.weights_of(place.layer, ParameterKind::kExpertDown)},
                 {*kept.expert_gate_up, *kept.expert_activated, made});
  kept.expert_output = send_to_tokens(place, made, BufferContent::kRouted);
  const BufferId out = stage_.activation(BufferContent::kBranch, stage_.stream_elements());
  std::vector<BufferId> reads{*kept.routing, *kept.expert_output};
  if (shared) {
    reads.push_back(*shared);
  }
  stage_.compute(kind, *segments.combine, place, std::move(reads), {out});
  return out;
}

BufferId LayerGenerator::backward_experts(const Place& place, BufferId gradient, const LayerStash& kept) {
  const LayerSegments& segments = of(place);
  const LocalExperts& sizes = segments.sizes.experts.value();
  const std::int64_t hidden = stage_.segments.shape.hidden;
  const auto flow = MemoryCause::kGradientFlow;
  const BufferId ordered = stage_.activation(BufferContent::kRoutedGrad, sizes.routed() * hidden, flow);
  stage_.compute(InstructionKind::kBackwardInput, *segments.combine, place,
                 {gradient, *kept.routing, *kept.expert_output}, {ordered});
  const BufferId out_grad = send_to_experts(place, ordered, BufferContent::kRoutedGrad);
  std::optional<BufferId> shared;
  if (segments.mlp) {
    shared = backward_mlp(place, gradient, kept);
  }
  const BufferId gate_up_grad =
      stage_.activation(BufferContent::kGateUpGrad, sizes.received() * sizes.expert.up_width(), flow);
  const BufferId in_grad = stage_.activation(BufferContent::kRoutedGrad, sizes.received() * hidden, flow);
  stage_.compute(InstructionKind::kBackwardInput, *segments.experts, place,
                 {out_grad, *kept.expert_gate_up, stage_.weights_of(place.layer, ParameterKind::kExpertDown)},
                 {gate_up_grad, in_grad});
  const BufferId back = send_to_tokens(place, in_grad, BufferContent::kRoutedGrad);
  weights_.add(place, [this, place, &segments, out_grad, gate_up_grad, kept] {
    stage_.weight_gradient(*segments.experts, place, ParameterKind::kExpertDown,
                           {out_grad, *kept.expert_activated, gate_up_grad, *kept.routed});
  });
  const BufferId normed_grad = stage_.activation(BufferContent::kNormedGrad, stage_.stream_elements(), flow);
  std::vector<BufferId> reads{back, *kept.routing, stage_.weights_of(place.layer, ParameterKind::kRouter)};
  if (shared) {
    reads.push_back(*shared);
  }
  stage_.compute(InstructionKind::kBackwardInput, *segments.router, place, std::move(reads), {normed_grad});
  weights_.add(place, [this, place, &segments, back, kept] {
    stage_.weight_gradient(*segments.router, place, ParameterKind::kRouter, {back, kept.mlp_normed});
  });
  return normed_grad;
}

}  // namespace trainyard
