#include "simulator/memory/program_memory.h"

#include <algorithm>

#include "simulator/memory/activation_memory.h"
#include "simulator/memory/in_flight.h"

namespace trainyard::simulator {

namespace {

double as_double(std::int64_t n) { return static_cast<double>(n); }

double feed_forward_flow(const FeedForwardShape& shape, double cut) {
  return as_double((shape.gated ? 3 : 2) * shape.width) / cut;
}

}  // namespace

double gradient_flow_bytes(const LayerShape& layer, const Layout& layout) {
  const double size = activation_size(layout.compute_type);
  const double tensor = layout.tensor;
  const double hidden = as_double(layer.hidden);
  const bool shares = layout.sequence_parallel && layout.tensor > 1;
  double flow = 0.0;
  if (layer.feed_forward) {
    flow = hidden + (shares ? hidden : 0.0) + feed_forward_flow(*layer.feed_forward, tensor);
  }
  if (layer.experts) {
    const double each = as_double(layer.experts->experts_per_token) / (shares ? tensor : 1.0);
    const double up = as_double((layer.experts->expert.gated ? 2 : 1) * layer.experts->expert.width);
    const double experts = each * (2.0 * layout.expert_tensor * hidden + up);
    flow = std::max(flow, experts + (layer.experts->shared ? feed_forward_flow(*layer.experts->shared, tensor) : 0.0));
  }
  return size * (hidden / (shares ? tensor : 1.0) + flow);
}

double wide_bytes(const LayerShape& layer, const Layout& layout) {
  const bool shares = layout.sequence_parallel && layout.tensor > 1;
  const double wide = layer.feed_forward ? feed_forward_flow(*layer.feed_forward, layout.tensor) : 0.0;
  return activation_size(layout.compute_type) *
         std::max(0.0, wide - as_double(layer.hidden) / (shares ? layout.tensor : 1.0));
}

double ring_block_bytes(const LayerShape& layer, const Layout& layout) {
  const bool ring = layout.context > 1 && layout.context_kind == ContextKind::kRing;
  return ring ? activation_size(layout.compute_type) *
                    as_double(layer.attention.key_value_heads *
                              (layer.attention.query_key_size + layer.attention.value_size)) /
                    layout.tensor
              : 0.0;
}

int sent_chunks(const Layout& layout, int stage) {
  if (layout.pipeline == 1) {
    return 0;
  }
  const bool last = stage == layout.pipeline - 1;
  switch (layout.schedule) {
    case ScheduleKind::kZeroBubbleV:  // the first chunk turns on the last stage, the second ends on the first
      return (last ? 0 : 1) + (stage == 0 ? 0 : 1);
    case ScheduleKind::kDualPipe:  // either ends where the other begins
      return (last ? 0 : 1) + (stage == 0 ? 0 : 1);
    default:
      return layout.chunks_per_stage - (last ? 1 : 0);
  }
}

std::array<HeldPasses, 2> worst_moments(const Layout& layout, int stage) {
  const HeldPasses usual{micro_batches_in_flight(layout, stage), weight_gradients_deferred(layout, stage)};
  if (layout.pipeline == 1) {
    return {usual, usual};
  }
  const double p = layout.pipeline;
  const auto most = [&layout](double n) { return std::min(static_cast<double>(layout.accumulation), n); };
  switch (layout.schedule) {
    case ScheduleKind::kZeroBubbleV:
      return {HeldPasses{usual.in_flight, 0.5}, HeldPasses{most((p + stage) / 2.0), most(stage + 0.5)}};
    case ScheduleKind::kDualPipe:
      return {usual, HeldPasses{most(p / 4.0), std::min(stage + 1.0, p - stage) / 2.0}};
    default:
      return {usual, usual};
  }
}

double heads_in_flight(const Layout& layout, double in_flight) {
  switch (layout.schedule) {
    case ScheduleKind::kGpipe:
    case ScheduleKind::kZeroBubbleH1:
    case ScheduleKind::kZeroBubbleH2:
      return in_flight;
    default:
      return 1.0;
  }
}

}  // namespace trainyard::simulator
