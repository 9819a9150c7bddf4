#include "simulator/throughput/layer_costs.h"

#include "simulator/throughput/pipeline_time.h"

namespace trainyard::simulator {

namespace {

template <class T>
std::uint64_t bits(T value, unsigned shift) {
  return static_cast<std::uint64_t>(value) << shift;
}

}  // namespace

std::size_t kind_index(LayerKind kind) { return (kind.experts ? 1U : 0U) + (kind.window ? 2U : 0U); }

LayerKind kind_of(const ModelSpec& model, std::int64_t layer) {
  return {has_experts(model, layer), model.sliding_window.has_value() && !full_attention(model, layer)};
}

std::size_t LayerKeyHash::operator()(const LayerKey& key) const {
  std::uint64_t hash = 0x9e3779b97f4a7c15U;
  const auto mix = [&](std::uint64_t value) { hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U); };
  for (const std::int32_t degree : key.degrees) {
    mix(static_cast<std::uint64_t>(degree));
  }
  for (const std::int32_t place : key.placement) {
    mix(static_cast<std::uint64_t>(place));
  }
  mix(static_cast<std::uint64_t>(key.micro_batch));
  mix(key.switches);
  return hash;
}

LayerKey key_of(const Layout& layout, const LayoutGroups& shapes) {
  LayerKey key;
  key.degrees = {layout.tensor,
                 layout.context,
                 layout.expert,
                 layout.expert_tensor,
                 layout.pipeline > 1 ? layout.pipeline : 1,
                 layout.recompute_every};
  key.micro_batch = layout.micro_batch;
  key.switches = bits(layout.sequence_parallel, 0) | bits(layout.context_kind, 1) | bits(layout.recompute, 3) |
                 bits(layout.overlap_tensor, 5) | bits(layout.overlap_expert, 6) | bits(layout.compute_type, 7) |
                 bits(layout.gradient_type, 12) | bits(weights_apart(layout), 17);
  const auto place = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  key.placement = {place(shapes.tensor.per_node),    place(shapes.tensor.concurrent),  place(shapes.context.per_node),
                   place(shapes.context.concurrent), place(shapes.expert.per_node),    place(shapes.expert.concurrent),
                   place(shapes.pipeline.per_node),  place(shapes.pipeline.concurrent)};
  return key;
}
}  // namespace trainyard::simulator
