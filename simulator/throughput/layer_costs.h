// LayerCosts: the times of one micro-batch's layers, by all of a layout that they depend on.
//
// What a step model keeps: layouts that differ in data parallelism, ZeRO, schedule or batch alone share them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/units/quantity.h"
#include "simulator/throughput/layer_time.h"
#include "simulator/throughput/layout_groups.h"

namespace trainyard::simulator {

constexpr std::size_t kLayerKinds = 4;
using KindCounts = std::array<int, kLayerKinds>;

std::size_t kind_index(LayerKind kind);
LayerKind kind_of(const ModelSpec& model, std::int64_t layer);

// All of a layout that a layer's time depends on.
struct LayerKey {
  std::array<std::int32_t, 6> degrees{};
  std::int64_t micro_batch = 0;
  std::uint64_t switches = 0;
  std::array<std::int32_t, 8> placement{};
  friend bool operator==(const LayerKey&, const LayerKey&) = default;
};

struct LayerKeyHash {
  std::size_t operator()(const LayerKey& key) const;
};

LayerKey key_of(const Layout& layout, const LayoutGroups& shapes);

struct LayerCosts {
  std::array<LayerTime, kLayerKinds> layer{};
  LayerTime embedding;
  LayerTime head;
  LayerTime merge;  // of a multi-token block
  Seconds transfer;
  Bytes kept;  // activations of all layers, one micro-batch: what offload moves
};

}  // namespace trainyard::simulator
