#include "core/program/layer_generator.h"

namespace trainyard {

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
  if (stage_.plan.model.parallel_branches) {
    return forward_beside(kind, place, residual, branch, kept);
  }
  kept.residual = forward_norm(kind, place, ParameterKind::kAttentionNorm, residual, branch, stage_.segments.norm,
                               kept.attention_normed, kept.attention_rstd);
  BufferId out = forward_attention(kind, place, norm_output(place, kept.attention_normed), kept);
  out = stage_.reduce_partial(out, place, BufferContent::kBranch, MemoryCause::kActivations);
  kept.mlp_residual = forward_norm(kind, place, ParameterKind::kMlpNorm, kept.residual, out, stage_.segments.norm,
                                   kept.mlp_normed, kept.mlp_rstd);
  return of(place).experts ? forward_experts(kind, place, kept) : forward_mlp(kind, place, kept);
}

// The mlp adds to what attention has made, and the sum is reduced once (Almazrouei et al. 2023, Falcon, on parallel
// attention: one all-reduce a layer is saved). Behind one norm both read the same gathered tokens.
BufferId LayerGenerator::forward_beside(InstructionKind kind, const Place& place, BufferId residual,
                                        std::optional<BufferId> branch, LayerStash& kept) {
  const bool one_norm = stage_.plan.model.shared_norm;
  kept.residual = forward_norm(kind, place, ParameterKind::kAttentionNorm, residual, branch, stage_.segments.norm,
                               kept.attention_normed, kept.attention_rstd);
  kept.mlp_residual = kept.residual;
  kept.mlp_normed = kept.attention_normed;
  if (!one_norm) {
    forward_norm(kind, place, ParameterKind::kMlpNorm, kept.residual, std::nullopt, stage_.segments.norm,
                 kept.mlp_normed, kept.mlp_rstd);
  }
  const BufferId input = norm_output(place, kept.attention_normed);
  const BufferId out = forward_attention(kind, place, input, kept);
  forward_products(kind, place, one_norm ? input : norm_output(place, kept.mlp_normed), out, kept);
  return stage_.reduce_partial(out, place, BufferContent::kBranch, MemoryCause::kActivations);
}

BufferId LayerGenerator::norm_output(const Place& place, BufferId normed) {
  return stage_.gather_shares(normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
}

BufferId LayerGenerator::forward_attention(InstructionKind kind, const Place& place, BufferId input, LayerStash& kept) {
  const std::int64_t tokens = stage_.segments.shape.tokens;
  const LayerSegments& segments = of(place);
  const LocalAttention& sizes = segments.sizes.attention;
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kQuery);
  kept.qkv = stage_.activation(BufferContent::kQkv, tokens * sizes.products_width());
  kept.attention = stage_.activation(BufferContent::kAttention, tokens * sizes.output_width());
  kept.log_sum_exp = stage_.activation(BufferContent::kLogSumExp, tokens * sizes.heads);
  const BufferId out = stage_.activation(BufferContent::kBranch, stage_.full_elements());
  if (segments.attention) {
    stage_.compute(kind, *segments.attention, place, {input, weights},
                   {kept.qkv, kept.attention, kept.log_sum_exp, out});
  } else {
    stage_.compute(kind, *segments.query_key_value, place, {input, weights}, {kept.qkv});
    forward_scores(kind, place, kept);
    stage_.compute(kind, *segments.projection, place, {kept.attention, weights}, {out});
  }
  return out;
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
  const BufferId out = stage_.activation(BufferContent::kBranch, stage_.full_elements());
  forward_products(kind, place, norm_output(place, kept.mlp_normed), out, kept);
  return stage_.reduce_partial(out, place, BufferContent::kBranch, MemoryCause::kActivations);
}

void LayerGenerator::forward_products(InstructionKind kind, const Place& place, BufferId input, BufferId out,
                                      LayerStash& kept) {
  const std::int64_t tokens = stage_.segments.shape.tokens;
  const LayerSegments& segments = of(place);
  const LocalFeedForward& sizes = segments.sizes.feed_forward.value();
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kGate);
  kept.gate_up = stage_.activation(BufferContent::kGateUp, tokens * sizes.up_width());
  kept.activated = stage_.activation(BufferContent::kActivated, tokens * sizes.width);
  std::vector<BufferId> reads{input, weights};
  if (stage_.segments.shape.adds_outputs) {
    reads.push_back(out);
  }
  stage_.compute(kind, *segments.mlp, place, std::move(reads), {*kept.gate_up, *kept.activated, out});
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
  const SegmentId first = starts_chunk ? stage_.segments.first_norm : stage_.segments.norm;
  if (stage_.plan.model.parallel_branches) {
    return backward_beside(place, gradient, kept, first);
  }
  BufferId normed_grad =
      of(place).experts ? backward_experts(place, gradient, kept) : backward_mlp(place, gradient, kept);
  gradient = backward_norm(place, ParameterKind::kMlpNorm, stage_.segments.norm, normed_grad, kept.mlp_residual,
                           kept.mlp_rstd, gradient);
  normed_grad = backward_attention(place, output_gradient(place, gradient), std::nullopt, kept);
  normed_grad = reduce_gradient(place, normed_grad);
  return backward_norm(place, ParameterKind::kAttentionNorm, first, normed_grad, kept.residual, kept.attention_rstd,
                       gradient);
}

// Both branches' outputs have the gradient of their sum. Behind one norm attention adds to the mlp's gradient of its
// output, which is reduced once.
BufferId LayerGenerator::backward_beside(const Place& place, BufferId gradient, const LayerStash& kept,
                                         SegmentId first) {
  const bool one_norm = stage_.plan.model.shared_norm;
  const BufferId out_grad = output_gradient(place, gradient);
  BufferId of_mlp = backward_products(place, out_grad, kept);
  std::optional<BufferId> sum;
  if (one_norm) {
    sum = of_mlp;
  } else {
    of_mlp = reduce_gradient(place, of_mlp);
  }
  const BufferId normed_grad = reduce_gradient(place, backward_attention(place, out_grad, sum, kept));
  if (!one_norm) {
    gradient = backward_norm(place, ParameterKind::kMlpNorm, stage_.segments.first_norm, of_mlp, kept.mlp_residual,
                             kept.mlp_rstd, gradient);
  }
  return backward_norm(place, ParameterKind::kAttentionNorm, first, normed_grad, kept.residual, kept.attention_rstd,
                       gradient);
}

BufferId LayerGenerator::output_gradient(const Place& place, BufferId gradient) {
  return stage_.gather_shares(gradient, place, BufferContent::kResidualGrad, MemoryCause::kGradientFlow);
}

BufferId LayerGenerator::reduce_gradient(const Place& place, BufferId normed_grad) {
  return stage_.reduce_partial(normed_grad, place, BufferContent::kNormedGrad, MemoryCause::kGradientFlow);
}

BufferId LayerGenerator::backward_mlp(const Place& place, BufferId gradient, const LayerStash& kept) {
  return reduce_gradient(place, backward_products(place, output_gradient(place, gradient), kept));
}

BufferId LayerGenerator::backward_products(const Place& place, BufferId out_grad, const LayerStash& kept) {
  const std::int64_t tokens = stage_.segments.shape.tokens;
  const LayerSegments& segments = of(place);
  const LocalFeedForward& sizes = segments.sizes.feed_forward.value();
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kGate);
  const auto flow = MemoryCause::kGradientFlow;
  const BufferId activated_grad = stage_.activation(BufferContent::kActivatedGrad, tokens * sizes.width, flow);
  const BufferId gate_up_grad = stage_.activation(BufferContent::kGateUpGrad, tokens * sizes.up_width(), flow);
  const BufferId normed_grad = stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), flow);
  stage_.compute(InstructionKind::kBackwardInput, *segments.mlp, place, {out_grad, *kept.gate_up, weights},
                 {activated_grad, gate_up_grad, normed_grad});
  weights_.add(place, [this, place, &segments, out_grad, kept, gate_up_grad] {
    const BufferId normed =
        stage_.gather_shares(kept.mlp_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(*segments.mlp, place, ParameterKind::kGate,
                           {out_grad, *kept.activated, gate_up_grad, normed});
  });
  return normed_grad;
}

BufferId LayerGenerator::backward_attention(const Place& place, BufferId out_grad, std::optional<BufferId> sum,
                                            const LayerStash& kept) {
  const std::int64_t tokens = stage_.segments.shape.tokens;
  const LayerSegments& segments = of(place);
  const LocalAttention& sizes = segments.sizes.attention;
  const auto flow = MemoryCause::kGradientFlow;
  if (!segments.attention) {
    return backward_attention_pieces(place, out_grad, sum, kept);
  }
  const BufferId weights = stage_.weights_of(place.layer, ParameterKind::kQuery);
  const BufferId attention_grad = stage_.activation(BufferContent::kAttentionGrad, tokens * sizes.output_width(), flow);
  const BufferId qkv_grad = stage_.activation(BufferContent::kQkvGrad, tokens * sizes.products_width(), flow);
  std::vector<BufferId> reads{out_grad, kept.qkv, kept.attention, kept.log_sum_exp, weights};
  const BufferId normed_grad = input_gradient(sum, reads);
  stage_.compute(InstructionKind::kBackwardInput, *segments.attention, place, std::move(reads),
                 {attention_grad, qkv_grad, normed_grad});
  weights_.add(place, [this, place, &segments, out_grad, kept, qkv_grad] {
    const BufferId normed =
        stage_.gather_shares(kept.attention_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(*segments.attention, place, ParameterKind::kQuery,
                           {out_grad, kept.attention, qkv_grad, normed});
  });
  return normed_grad;
}

// What attention's last product writes, or adds to and so reads.
BufferId LayerGenerator::input_gradient(std::optional<BufferId> sum, std::vector<BufferId>& reads) {
  if (sum) {
    reads.push_back(*sum);
    return *sum;
  }
  return stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), MemoryCause::kGradientFlow);
}

BufferId LayerGenerator::backward_attention_pieces(const Place& place, BufferId out_grad, std::optional<BufferId> sum,
                                                   const LayerStash& kept) {
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
  const BufferId normed_grad = input_gradient(sum, reads);
  stage_.compute(InstructionKind::kBackwardInput, *segments.query_key_value, place, std::move(reads), {normed_grad});
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

}  // namespace trainyard
