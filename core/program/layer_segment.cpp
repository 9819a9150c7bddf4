// The segments of a layer: attention, feed-forward, and what parallelism cuts them into.
#include <algorithm>

#include "core/error.h"
#include "core/program/segment_shape.h"
#include "core/program/storage_type.h"

namespace trainyard {

namespace {

Elementwise pass_over(ElementwiseKernel kernel, std::int64_t elements, std::int64_t read, std::int64_t written,
                      DataType compute) {
  const std::int64_t size = size_of(storage_type(compute));
  return {kernel, elements, ByteCount(read * size), ByteCount(written * size)};
}

Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, Transpose transpose, DataType type, std::int64_t batch = 1,
             GradientOperand gradient = GradientOperand::kNone) {
  return {.batch = batch, .m = m, .n = n, .k = k, .type = type, .transpose = transpose, .gradient = gradient};
}

// Products of t rows with a weight, as it is stored.
Gemm forward_product(const SegmentShape& s, std::int64_t t, std::int64_t out, std::int64_t in, std::int64_t batch = 1) {
  return product(t, out, in, s.inputs_first ? Transpose::kNN : Transpose::kNT, s.type, batch);
}
Gemm input_gradient(const SegmentShape& s, std::int64_t t, std::int64_t out, std::int64_t in, std::int64_t batch = 1) {
  return product(t, in, out, s.inputs_first ? Transpose::kNT : Transpose::kNN, s.type, batch, GradientOperand::kA);
}
Gemm weight_gradient(const SegmentShape& s, std::int64_t t, std::int64_t out, std::int64_t in, std::int64_t batch = 1) {
  return s.inputs_first ? product(in, out, t, Transpose::kTN, s.type, batch, GradientOperand::kB)
                        : product(out, in, t, Transpose::kTN, s.type, batch, GradientOperand::kA);
}

// The same product, added to what its output holds.
Operation added(const Operation& operation) {
  Gemm gemm = std::get<Gemm>(operation);
  gemm.accumulate = true;
  return gemm;
}

// The gradient of a product's bias; forward, the product adds it.
void add_bias_gradient(std::vector<Operation>& to, const SegmentShape& s, std::int64_t t, std::int64_t out) {
  to.emplace_back(pass_over(ElementwiseKernel::kBiasBackward, t * out, t * out, out, s.type));
}

// Causal attention of a rank's tokens among themselves; all of the sequence's under Ulysses, for a share of the heads.
Attention own_scores(const SegmentShape& s, const LocalAttention& a, AttentionPass pass) {
  const bool by_heads = s.context_size > 1 && s.context_kind == ContextKind::kUlysses;
  const std::int64_t share = by_heads ? s.context_size : 1;
  const std::int64_t tokens = by_heads ? s.whole_sequence : s.sequence;
  return {.sequences = s.sequences,
          .query_heads = std::max<std::int64_t>(1, a.heads / share),
          .key_heads = std::max<std::int64_t>(1, a.key_heads / share),
          .queries = tokens,
          .keys = tokens,
          .head_size = a.key_size,
          .mask = AttentionMask::kCausal,
          .pass = pass,
          .query_tile = kAttentionQueryTile,
          .type = storage_type(s.type),
          .value_size = a.value_size == a.key_size ? 0 : a.value_size,
          .window = a.window < tokens ? a.window : 0};
}

// Keys of other ranks that a query sees on average. A rank holds an early and a late piece of the sequence, so that all
// see equally many: whole sequence's mean less what it sees of its own rank's.
std::int64_t keys_elsewhere(const SegmentShape& s, const LocalAttention& a) {
  const auto mean = [&](std::int64_t tokens) {
    const std::int64_t w = a.window;
    return w == 0 || w >= tokens ? tokens / 2 : w - w * w / (2 * tokens);
  };
  return std::max<std::int64_t>(0, mean(s.whole_sequence) - mean(s.sequence));
}

Attention other_scores(const SegmentShape& s, const LocalAttention& a, AttentionPass pass) {
  Attention attention = own_scores(s, a, pass);
  const std::int64_t blocks = s.context_kind == ContextKind::kRing ? s.context_size - 1 : 1;
  attention.keys = std::max<std::int64_t>(1, keys_elsewhere(s, a) / blocks);
  attention.mask = AttentionMask::kNone;
  attention.window = 0;
  return attention;
}

void add_inputs(Segment& segment, const SegmentShape& s, const LocalAttention& a) {
  const std::int64_t t = s.tokens;
  const std::int64_t normed = t * a.normed;
  const std::int64_t rotated = t * a.rotated;
  for (const LocalProduct& p : a.inputs) {
    segment.forward.emplace_back(forward_product(s, t, p.outputs, p.inputs));
  }
  if (normed > 0) {
    segment.forward.emplace_back(pass_over(ElementwiseKernel::kNormForward, normed, normed, normed, s.type));
  }
  if (rotated > 0) {
    segment.forward.emplace_back(pass_over(ElementwiseKernel::kRopeForward, rotated, rotated, rotated, s.type));
    segment.backward_input.emplace_back(pass_over(ElementwiseKernel::kRopeBackward, rotated, rotated, rotated, s.type));
  }
  if (normed > 0) {
    segment.backward_input.emplace_back(
        pass_over(ElementwiseKernel::kNormBackward, normed, 2 * normed, normed, s.type));
  }
  for (auto p = a.inputs.rbegin(); p != a.inputs.rend(); ++p) {
    segment.backward_input.emplace_back(input_gradient(s, t, p->outputs, p->inputs));
    segment.backward_weight.emplace_back(weight_gradient(s, t, p->outputs, p->inputs));
    if (p->bias) {
      add_bias_gradient(segment.backward_weight, s, t, p->outputs);
    }
  }
  if (s.adds_input_gradients) {
    segment.backward_input.back() = added(segment.backward_input.back());
  }
}

Segment query_key_value(const SegmentShape& s, const LocalAttention& a) {
  Segment segment{.kind = SegmentKind::kQueryKeyValue};
  add_inputs(segment, s, a);
  return segment;
}

Segment scores(const SegmentShape& s, const LocalAttention& a, bool first_block) {
  const auto of = [&](AttentionPass pass) { return first_block ? own_scores(s, a, pass) : other_scores(s, a, pass); };
  Segment segment{.kind = SegmentKind::kScores};
  segment.forward = {of(AttentionPass::kForward)};
  segment.backward_input = {of(AttentionPass::kBackward)};
  return segment;
}

Segment projection(const SegmentShape& s, const LocalAttention& a) {
  const std::int64_t t = s.tokens, h = a.output.outputs, width = a.output.inputs;
  Segment segment{.kind = SegmentKind::kProjection};
  segment.forward = {forward_product(s, t, h, width)};
  segment.backward_input = {input_gradient(s, t, h, width)};
  segment.backward_weight = {weight_gradient(s, t, h, width)};
  if (a.output.bias) {
    add_bias_gradient(segment.backward_weight, s, t, h);
  }
  return segment;
}

// The three above in one, where no rank of a context-parallel group stands between them.
Segment attention(const SegmentShape& s, const LocalAttention& a) {
  const Segment inputs = query_key_value(s, a);
  const Segment middle = scores(s, a, true);
  const Segment outputs = projection(s, a);
  Segment segment{.kind = SegmentKind::kAttention};
  const auto join = [](std::vector<Operation>& to, std::initializer_list<const std::vector<Operation>*> parts) {
    for (const std::vector<Operation>* part : parts) {
      to.insert(to.end(), part->begin(), part->end());
    }
  };
  join(segment.forward, {&inputs.forward, &middle.forward, &outputs.forward});
  join(segment.backward_input, {&outputs.backward_input, &middle.backward_input, &inputs.backward_input});
  join(segment.backward_weight, {&outputs.backward_weight, &inputs.backward_weight});
  return segment;
}

// `batch` feed-forwards of t tokens each.
Segment feed_forward(SegmentKind kind, const SegmentShape& s, std::int64_t t, const LocalFeedForward& ff,
                     std::int64_t batch) {
  const std::int64_t h = ff.hidden, f = ff.width, up = ff.up_width();
  const std::int64_t n = batch * t * f;
  const std::int64_t inputs = ff.gated ? 2 : 1;
  const auto activate = ff.gated ? ElementwiseKernel::kSwigluForward : ElementwiseKernel::kGeluForward;
  const auto activate_back = ff.gated ? ElementwiseKernel::kSwigluBackward : ElementwiseKernel::kGeluBackward;
  Segment segment{.kind = kind};
  segment.forward = {forward_product(s, t, up, h, batch), pass_over(activate, n, inputs * n, n, s.type),
                     forward_product(s, t, h, f, batch)};
  segment.backward_input = {input_gradient(s, t, h, f, batch),
                            pass_over(activate_back, n, (inputs + 1) * n, inputs * n, s.type),
                            input_gradient(s, t, up, h, batch)};
  if (s.adds_outputs && kind == SegmentKind::kMlp) {
    segment.forward.back() = added(segment.forward.back());
  }
  segment.backward_weight.emplace_back(weight_gradient(s, t, h, f, batch));
  if (ff.bias) {
    add_bias_gradient(segment.backward_weight, s, batch * t, h);
  }
  segment.backward_weight.emplace_back(weight_gradient(s, t, up, h, batch));
  if (ff.bias) {
    add_bias_gradient(segment.backward_weight, s, batch * t, up);
  }
  return segment;
}

Segment router(const SegmentShape& s, const LocalExperts& e) {
  const std::int64_t t = e.tokens, h = s.hidden, logits = t * e.experts, moved = e.routed() * h;
  Segment segment{.kind = SegmentKind::kRouter};
  const DataType type = wide_type(s.type);
  segment.forward = {product(t, e.experts, h, Transpose::kNT, type),
                     pass_over(ElementwiseKernel::kLossStatistics, logits, logits, 0, s.type),
                     pass_over(ElementwiseKernel::kCopy, moved, t * h, moved, s.type)};
  segment.backward_input = {pass_over(ElementwiseKernel::kCopy, moved, moved, t * h, s.type),
                            pass_over(ElementwiseKernel::kLossGradient, logits, logits, logits, s.type),
                            product(t, h, e.experts, Transpose::kNN, type, 1, GradientOperand::kA)};
  segment.backward_weight = {product(e.experts, h, t, Transpose::kTN, type, 1, GradientOperand::kA)};
  return segment;
}

Segment combine(const SegmentShape& s, const LocalExperts& e, bool shared) {
  const std::int64_t n = e.tokens * s.hidden, moved = e.routed() * s.hidden;
  Segment segment{.kind = SegmentKind::kCombine};
  segment.forward = {pass_over(ElementwiseKernel::kAdd, moved, moved + (shared ? n : 0), n, s.type)};
  segment.backward_input = {pass_over(ElementwiseKernel::kCopy, moved, n + moved, moved, s.type)};
  return segment;
}

}  // namespace

Segment make_layer_segment(SegmentKind kind, const SegmentShape& shape, const LayerSizes& layer, bool first_block) {
  switch (kind) {
    case SegmentKind::kAttention:
      return attention(shape, layer.attention);
    case SegmentKind::kQueryKeyValue:
      return query_key_value(shape, layer.attention);
    case SegmentKind::kScores:
      return scores(shape, layer.attention, first_block);
    case SegmentKind::kProjection:
      return projection(shape, layer.attention);
    case SegmentKind::kMlp:
      return feed_forward(kind, shape, shape.tokens, layer.feed_forward.value(), 1);
    case SegmentKind::kExperts:
      return feed_forward(kind, shape, layer.experts.value().busiest, layer.experts->expert, layer.experts->here);
    case SegmentKind::kRouter:
      return router(shape, layer.experts.value());
    case SegmentKind::kCombine:
      return combine(shape, layer.experts.value(), layer.feed_forward.has_value());
    default:
      break;
  }
  check(false, "not a segment of a layer");
  return {};
}

}  // namespace trainyard
