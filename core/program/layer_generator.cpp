#include "core/program/layer_generator.h"

#include "core/error.h"
#include "core/program/wire.h"

namespace trainyard {

void WeightPasses::add(const Place& place, std::function<void()> pass) {
  if (apart_) {
    kept_[{place.microbatch, place.chunk}].push_back(std::move(pass));
  } else {
    pass();
  }
}

void WeightPasses::run(int microbatch, int chunk) {
  const auto kept = kept_.find({microbatch, chunk});
  if (kept == kept_.end()) {
    return;
  }
  const std::vector<std::function<void()>> passes = std::move(kept->second);
  kept_.erase(kept);
  for (const std::function<void()>& pass : passes) {
    pass();
  }
}

std::vector<const Bucket*> LayerGenerator::buckets(std::int64_t layer) const {
  const auto index = static_cast<int>(layer);
  std::vector<const Bucket*> used{&stage_.bucket_of(index, ParameterKind::kQuery)};
  if (stage_.segments.layer(layer).experts) {
    used.push_back(&stage_.bucket_of(index, ParameterKind::kExpertDown));
  }
  return used;
}

BufferId LayerGenerator::forward_norm(InstructionKind kind, const Place& place, ParameterKind weight, BufferId residual,
                                      std::optional<BufferId> branch, SegmentId with_branch, BufferId& normed,
                                      BufferId& rstd) {
  normed = stage_.activation(BufferContent::kNormed, stage_.stream_elements());
  const std::int64_t moments = stage_.plan.model.normalization == Normalization::kLayer ? 2 : 1;
  rstd = stage_.activation(BufferContent::kRstd, moments * stage_.segments.shape.norm_tokens);
  const BufferId weights = stage_.weights_of(place.layer, weight);
  if (!branch) {
    stage_.compute(kind, stage_.segments.first_norm, place, {residual, weights}, {normed, rstd});
    return residual;
  }
  const BufferId sum = stage_.activation(BufferContent::kResidual, stage_.stream_elements());
  stage_.compute(kind, with_branch, place, {residual, *branch, weights}, {sum, normed, rstd});
  return sum;
}

BufferId LayerGenerator::forward(InstructionKind kind, const Place& place, BufferId residual,
                                 std::optional<BufferId> branch, LayerStash& kept) {
  kept.residual = forward_norm(kind, place, ParameterKind::kAttentionNorm, residual, branch, stage_.segments.norm,
                               kept.attention_normed, kept.attention_rstd);
  const BufferId out = forward_attention(kind, place, kept);
  kept.mlp_residual = forward_norm(kind, place, ParameterKind::kMlpNorm, kept.residual, out, stage_.segments.norm,
                                   kept.mlp_normed, kept.mlp_rstd);
  return of(place).experts ? forward_experts(kind, place, kept) : forward_mlp(kind, place, kept);
}

BufferId LayerGenerator::forward_attention(InstructionKind kind, const Place& place, LayerStash& kept) {
  const std::int64_t tokens = stage_.segments.shape.tokens;
  const LayerSegments& segments = of(place);
  const LocalAttention& sizes = segments.sizes.attention;
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kQuery);
  kept.qkv = stage_.activation(BufferContent::kQkv, tokens * sizes.products_width());
  kept.attention = stage_.activation(BufferContent::kAttention, tokens * sizes.output_width());
  kept.log_sum_exp = stage_.activation(BufferContent::kLogSumExp, tokens * sizes.heads);
  const BufferId out = stage_.activation(BufferContent::kBranch, stage_.full_elements());
  const BufferId input =
      stage_.gather_shares(kept.attention_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
  if (segments.attention) {
    stage_.compute(kind, *segments.attention, place, {input, weights},
                   {kept.qkv, kept.attention, kept.log_sum_exp, out});
  } else {
    stage_.compute(kind, *segments.query_key_value, place, {input, weights}, {kept.qkv});
    forward_scores(kind, place, kept);
    stage_.compute(kind, *segments.projection, place, {kept.attention, weights}, {out});
  }
  return stage_.reduce_partial(out, place, BufferContent::kBranch, MemoryCause::kActivations);
}

BufferId LayerGenerator::pass_block(const Place& place, std::vector<BufferId> from, BufferContent content,
                                    std::int64_t elements) {
  const auto cause = content == BufferContent::kKeyValue ? MemoryCause::kWorkspace : MemoryCause::kGradientFlow;
  const BufferId arrived = stage_.activation(content, elements, cause);
  Communication c;
  c.kind = CommunicationKind::kSend;
  c.algorithm = CollectiveAlgorithm::kDirect;
  c.group = group_id(GroupKind::kContext);
  c.elements = elements;
  c.type = stage_.layout.communication_type;
  c.reduction_type = c.type;
  c.payload = ByteCount(elements * size_of(c.type));
  c.sent = c.payload;
  c.messages = 1;
  c.extent = {.exact = true, .expected = c.payload, .maximum = c.payload};
  stage_.communicate(InstructionKind::kSend, Stream::kTensor, place, std::move(from), {arrived}, c);
  return arrived;
}

// Ulysses leaves one share of the heads, of all tokens: a buffer as large as before.
void LayerGenerator::forward_scores(InstructionKind kind, const Place& place, LayerStash& kept) {
  const SegmentShape& s = stage_.segments.shape;
  const LayerSegments& segments = of(place);
  const LocalAttention& sizes = segments.sizes.attention;
  const auto size = static_cast<int>(s.context_size);
  const std::int64_t block = s.tokens * sizes.key_value_width();
  const auto exchange = [&](BufferId from, BufferContent content, std::int64_t elements) {
    const BufferId to = stage_.activation(content, elements, MemoryCause::kWorkspace);
    stage_.communicate(InstructionKind::kAllToAll, Stream::kTensor, place, {from}, {to},
                       stage_.group_collective(GroupKind::kContext, size, CommunicationKind::kAllToAll, elements));
    return to;
  };
  if (s.context_kind == ContextKind::kUlysses) {
    const std::int64_t inputs = s.tokens * (sizes.heads * sizes.key_size + sizes.key_value_width());
    const BufferId by_heads = exchange(kept.qkv, BufferContent::kQkv, inputs);
    const BufferId made = stage_.activation(BufferContent::kAttention, s.tokens * sizes.output_width());
    stage_.compute(kind, *segments.own_scores, place, {by_heads}, {made, kept.log_sum_exp});
    stage_.communicate(InstructionKind::kAllToAll, Stream::kTensor, place, {made}, {kept.attention},
                       stage_.group_collective(GroupKind::kContext, size, CommunicationKind::kAllToAll,
                                               s.tokens * sizes.output_width()));
    return;
  }
  if (s.context_kind == ContextKind::kAllGather) {
    const BufferId all = stage_.activation(BufferContent::kKeyValue, size * block, MemoryCause::kWorkspace);
    stage_.communicate(InstructionKind::kGather, Stream::kTensor, place, {kept.qkv}, {all},
                       stage_.group_collective(GroupKind::kContext, size, CommunicationKind::kAllGather, size * block));
    stage_.compute(kind, *segments.own_scores, place, {kept.qkv, all}, {kept.attention, kept.log_sum_exp});
    stage_.compute(kind, *segments.other_scores, place, {kept.qkv, all}, {kept.attention, kept.log_sum_exp});
    return;
  }
  BufferId here = kept.qkv;
  for (int hop = 0; hop < size; ++hop) {
    const BufferId now = here;
    if (hop + 1 < size) {
      here = pass_block(place, {now}, BufferContent::kKeyValue, block);
    }
    stage_.compute(kind, hop == 0 ? *segments.own_scores : *segments.other_scores, place, {kept.qkv, now},
                   {kept.attention, kept.log_sum_exp});
  }
  kept.last_block = here;
}

BufferId LayerGenerator::forward_mlp(InstructionKind kind, const Place& place, LayerStash& kept) {
  const std::int64_t tokens = stage_.segments.shape.tokens;
  const LayerSegments& segments = of(place);
  const LocalFeedForward& sizes = segments.sizes.feed_forward.value();
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kGate);
  kept.gate_up = stage_.activation(BufferContent::kGateUp, tokens * sizes.up_width());
  kept.activated = stage_.activation(BufferContent::kActivated, tokens * sizes.width);
  const BufferId out = stage_.activation(BufferContent::kBranch, stage_.full_elements());
  const BufferId input = stage_.gather_shares(kept.mlp_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
  stage_.compute(kind, *segments.mlp, place, {input, weights}, {*kept.gate_up, *kept.activated, out});
  return stage_.reduce_partial(out, place, BufferContent::kBranch, MemoryCause::kActivations);
}

BufferId LayerGenerator::backward_norm(const Place& place, ParameterKind weight, SegmentId segment,
                                       BufferId normed_grad, BufferId residual, BufferId rstd, BufferId gradient) {
  const BufferId weights = stage_.weights_of(place.layer, weight);
  const BufferId before = weights_.apart() ? stage_.activation(BufferContent::kResidualGrad, stage_.stream_elements(),
                                                               MemoryCause::kGradientFlow)
                                           : gradient;
  stage_.compute(InstructionKind::kBackwardInput, segment, place, {normed_grad, residual, rstd, gradient, weights},
                 {before});
  weights_.add(place, [this, place, weight, segment, normed_grad, residual, rstd] {
    stage_.weight_gradient(segment, place, weight, {normed_grad, residual, rstd});
  });
  return before;
}

BufferId LayerGenerator::backward(const Place& place, BufferId gradient, const LayerStash& kept, bool starts_chunk) {
  BufferId normed_grad =
      of(place).experts ? backward_experts(place, gradient, kept) : backward_mlp(place, gradient, kept);
  gradient = backward_norm(place, ParameterKind::kMlpNorm, stage_.segments.norm, normed_grad, kept.mlp_residual,
                           kept.mlp_rstd, gradient);
  normed_grad = backward_attention(place, gradient, kept);
  return backward_norm(place, ParameterKind::kAttentionNorm,
                       starts_chunk ? stage_.segments.first_norm : stage_.segments.norm, normed_grad, kept.residual,
                       kept.attention_rstd, gradient);
}

BufferId LayerGenerator::backward_mlp(const Place& place, BufferId gradient, const LayerStash& kept) {
  const std::int64_t tokens = stage_.segments.shape.tokens;
  const LayerSegments& segments = of(place);
  const LocalFeedForward& sizes = segments.sizes.feed_forward.value();
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kGate);
  const auto flow = MemoryCause::kGradientFlow;
  const BufferId out_grad = stage_.gather_shares(gradient, place, BufferContent::kResidualGrad, flow);
  const BufferId activated_grad = stage_.activation(BufferContent::kActivatedGrad, tokens * sizes.width, flow);
  const BufferId gate_up_grad = stage_.activation(BufferContent::kGateUpGrad, tokens * sizes.up_width(), flow);
  BufferId normed_grad = stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), flow);
  stage_.compute(InstructionKind::kBackwardInput, *segments.mlp, place, {out_grad, *kept.gate_up, weights},
                 {activated_grad, gate_up_grad, normed_grad});
  normed_grad = stage_.reduce_partial(normed_grad, place, BufferContent::kNormedGrad, flow);
  weights_.add(place, [this, place, &segments, out_grad, kept, gate_up_grad] {
    const BufferId normed =
        stage_.gather_shares(kept.mlp_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(*segments.mlp, place, ParameterKind::kGate,
                           {out_grad, *kept.activated, gate_up_grad, normed});
  });
  return normed_grad;
}

BufferId LayerGenerator::backward_attention(const Place& place, BufferId gradient, const LayerStash& kept) {
  const std::int64_t tokens = stage_.segments.shape.tokens;
  const LayerSegments& segments = of(place);
  const LocalAttention& sizes = segments.sizes.attention;
  const auto flow = MemoryCause::kGradientFlow;
  const BufferId out_grad = stage_.gather_shares(gradient, place, BufferContent::kResidualGrad, flow);
  if (!segments.attention) {
    return backward_attention_pieces(place, out_grad, kept);
  }
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kQuery);
  const BufferId attention_grad = stage_.activation(BufferContent::kAttentionGrad, tokens * sizes.output_width(), flow);
  const BufferId qkv_grad = stage_.activation(BufferContent::kQkvGrad, tokens * sizes.products_width(), flow);
  BufferId normed_grad = stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), flow);
  stage_.compute(InstructionKind::kBackwardInput, *segments.attention, place,
                 {out_grad, kept.qkv, kept.attention, kept.log_sum_exp, weights},
                 {attention_grad, qkv_grad, normed_grad});
  normed_grad = stage_.reduce_partial(normed_grad, place, BufferContent::kNormedGrad, flow);
  weights_.add(place, [this, place, &segments, out_grad, kept, qkv_grad] {
    const BufferId normed =
        stage_.gather_shares(kept.attention_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(*segments.attention, place, ParameterKind::kQuery,
                           {out_grad, kept.attention, qkv_grad, normed});
  });
  return normed_grad;
}

BufferId LayerGenerator::backward_attention_pieces(const Place& place, BufferId out_grad, const LayerStash& kept) {
  const std::int64_t tokens = stage_.segments.shape.tokens;
  const LayerSegments& segments = of(place);
  const LocalAttention& sizes = segments.sizes.attention;
  const auto flow = MemoryCause::kGradientFlow;
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kQuery);
  const BufferId attention_grad = stage_.activation(BufferContent::kAttentionGrad, tokens * sizes.output_width(), flow);
  stage_.compute(InstructionKind::kBackwardInput, *segments.projection, place, {out_grad, weights}, {attention_grad});
  const BufferId qkv_grad = stage_.activation(BufferContent::kQkvGrad, tokens * sizes.products_width(), flow);
  std::vector<BufferId> reads{qkv_grad, kept.qkv, weights};
  if (const std::optional<BufferId> block = backward_scores(place, attention_grad, qkv_grad, kept)) {
    reads.push_back(*block);
  }
  BufferId normed_grad = stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), flow);
  stage_.compute(InstructionKind::kBackwardInput, *segments.query_key_value, place, std::move(reads), {normed_grad});
  normed_grad = stage_.reduce_partial(normed_grad, place, BufferContent::kNormedGrad, flow);
  weights_.add(place, [this, place, &segments, out_grad, kept, qkv_grad] {
    stage_.weight_gradient(*segments.projection, place, ParameterKind::kOutput, {out_grad, kept.attention});
    const BufferId normed =
        stage_.gather_shares(kept.attention_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(*segments.query_key_value, place, ParameterKind::kQuery, {qkv_grad, normed});
  });
  return normed_grad;
}

// Blocks come round again, the rank's own last; a block's gradient follows it.
std::optional<BufferId> LayerGenerator::backward_scores(const Place& place, BufferId attention_grad, BufferId qkv_grad,
                                                        const LayerStash& kept) {
  const SegmentShape& s = stage_.segments.shape;
  const LayerSegments& segments = of(place);
  const LocalAttention& sizes = segments.sizes.attention;
  const auto size = static_cast<int>(s.context_size);
  const std::int64_t block = s.tokens * sizes.key_value_width();
  const auto backward = [&](SegmentId segment, BufferId keys, BufferId gradient) {
    return stage_.compute(InstructionKind::kBackwardInput, segment, place,
                          {attention_grad, kept.qkv, kept.attention, kept.log_sum_exp, keys}, {qkv_grad, gradient});
  };
  const auto collective = [&](InstructionKind kind, CommunicationKind what, BufferId from, BufferId to,
                              std::int64_t elements) {
    stage_.communicate(kind, Stream::kTensor, place, {from}, {to},
                       stage_.group_collective(GroupKind::kContext, size, what, elements));
  };
  const auto flow = MemoryCause::kGradientFlow;
  if (s.context_kind == ContextKind::kUlysses) {
    const std::int64_t inputs = s.tokens * (sizes.heads * sizes.key_size + sizes.key_value_width());
    const std::int64_t outputs = s.tokens * sizes.output_width();
    const BufferId keys = stage_.activation(BufferContent::kQkv, inputs, MemoryCause::kWorkspace);
    collective(InstructionKind::kAllToAll, CommunicationKind::kAllToAll, kept.qkv, keys, inputs);
    const BufferId by_heads = stage_.activation(BufferContent::kAttentionGrad, outputs, flow);
    collective(InstructionKind::kAllToAll, CommunicationKind::kAllToAll, attention_grad, by_heads, outputs);
    const BufferId made = stage_.activation(BufferContent::kQkvGrad, inputs, flow);
    stage_.compute(InstructionKind::kBackwardInput, *segments.own_scores, place,
                   {by_heads, keys, kept.attention, kept.log_sum_exp}, {made});
    collective(InstructionKind::kAllToAll, CommunicationKind::kAllToAll, made, qkv_grad, inputs);
    return std::nullopt;
  }
  if (s.context_kind == ContextKind::kAllGather) {
    const BufferId all = stage_.activation(BufferContent::kKeyValue, size * block, MemoryCause::kWorkspace);
    collective(InstructionKind::kGather, CommunicationKind::kAllGather, kept.qkv, all, size * block);
    const BufferId gradient = stage_.activation(BufferContent::kKeyValueGrad, size * block, flow);
    backward(*segments.own_scores, all, gradient);
    backward(*segments.other_scores, all, gradient);
    collective(InstructionKind::kReduce, CommunicationKind::kReduceScatter, gradient, qkv_grad, size * block);
    return std::nullopt;
  }
  BufferId keys = kept.last_block.value();
  std::optional<BufferId> arrived;  // gradient of the block at hand, of the ranks that had it before
  std::vector<BufferId> leaving;    // on its way, with this rank's part: nothing takes their place
  const auto work_beside = [&](InstructionId next) {
    for (const BufferId buffer : leaving) {
      stage_.build.hold(buffer, next);
    }
  };
  for (int hop = 1; hop < size; ++hop) {
    const BufferId now = keys;
    keys = hop + 1 < size ? pass_block(place, {now}, BufferContent::kKeyValue, block) : kept.qkv;
    const BufferId part = stage_.activation(BufferContent::kKeyValueGrad, block, flow);
    work_beside(backward(*segments.other_scores, now, part));
    leaving = {part};
    if (arrived) {
      leaving.push_back(*arrived);
    }
    arrived = pass_block(place, leaving, BufferContent::kKeyValueGrad, block);
  }
  const BufferId own = stage_.activation(BufferContent::kKeyValueGrad, block, flow);
  work_beside(backward(*segments.own_scores, kept.qkv, own));
  return arrived;
}

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
