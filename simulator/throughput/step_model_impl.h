// What a StepModel keeps and how it prices a layout: shared by step_model.cpp and chunk_times.cpp alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/throughput/layer_costs.h"
#include "simulator/throughput/layout_groups.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/pipeline_play.h"
#include "simulator/throughput/step_model.h"
#include "simulator/throughput/update_time.h"

namespace trainyard::simulator {

struct Passes {
  Seconds forward;
  Seconds input;
  Seconds weight;
  Seconds sum() const { return forward + input + weight; }
  // repeated: of the layers, those that run again, over as many as the layout asks for.
  void add(const LayerTime& time, double count, double repeated = 1.0) {
    forward += count * time.forward;
    input += count * (time.input + repeated * time.again);
    weight += count * time.weight;
  }
};

// What a rank holds of the model: a chunk of a stage. DualPipe's two are whole stages, each for half the micro-batches.
struct Chunk {
  KindCounts layers{};
  int blocks = 0;  // of multi-token prediction, behind its layers
  bool embeds = false;
  bool has_head = false;
  double transfers = 0.0;  // of a pass that it waits for: one before it, one behind it, or twice the same
  double repeated = 1.0;   // a chunk's first layer runs again, and every so many behind it: more than a share of few
  PassTimes compute;       // of one micro-batch, tensor-parallel communication included
  PassTimes with_data;     // ... beside what ZeRO 2 and 3 move
  DataTime data;           // of all its parameters
  Seconds last;            // reduction of what is complete last
  Seconds first_gather;    // of a layer
  double slowed = 0.0;     // s of passes, by what ZeRO 2 scatters beside them

  // Whose gradients are reduced one by one: layers, tables.
  double parts() const {
    return std::max(
        1.0, std::accumulate(layers.begin(), layers.end(), blocks + (embeds ? 1.0 : 0.0) + (has_head ? 1.0 : 0.0)));
  }
};

// What is left of communication beside a pass: 1 - o while the pass computes, nothing while it communicates itself.
struct Unhidden {
  double forward = 0.0;
  double backward = 0.0;  // to inputs, and to weights where both are one pass
  double weight = 0.0;
};

// What the answer to UpdatePricer::data() depends on.
struct DataKey {
  std::array<GroupShape, 4> groups;
  std::array<int, 4> degrees{};
  std::array<DataType, 3> types{};
  ByteCount bucket;
  friend bool operator==(const DataKey&, const DataKey&) = default;
};

struct StepModel::Impl {
  static constexpr std::size_t kDataKept = 16;
  static constexpr std::size_t kTypes = 10;  // DataType's

  Impl(Workload given_workload, Machine given_machine, std::shared_ptr<const GroupCost> given_groups);

  Workload workload;
  Machine machine;
  std::shared_ptr<const GroupCost> groups;
  std::vector<KindCounts> before;  // [layer]: how many of each kind come before it
  std::size_t extra_kind = 0;      // of multi-token blocks' layers
  double repeated_block = 1.0;     // each of those runs again: as Chunk::repeated
  std::array<std::optional<MachineRates>, kTypes> rates;
  std::unordered_map<LayerKey, LayerCosts, LayerKeyHash> costs;
  std::vector<Chunk> chunks;         // by stage, by chunk of the stage
  std::vector<std::int64_t> starts;  // of chunks of the model: their first layers
  std::vector<PassTimes> passes;     // of chunks, with_data
  double waited = 0.0;               // s of a stage's transfer, where it stands still
  Unhidden unhidden;
  bool scatters_wait = false;  // passes may wait for what ZeRO 2 scatters
  PipelinePlay play;
  std::array<std::optional<std::pair<DataKey, DataTimes>>, kDataKept> data;  // the latest, in a ring
  std::size_t data_next = 0;

  const MachineRates& rates_of(DataType type) {
    std::optional<MachineRates>& entry = rates.at(static_cast<std::size_t>(type));
    if (!entry) {
      entry = machine_rates(machine, type);
    }
    return *entry;
  }

  const LayerCosts& costs_of(const Layout& layout, const LayoutGroups& shapes);
  Bytes kept_bytes(const Layout& layout, std::size_t kind) const;
  int chunks_of(const Layout& layout) const { return layout.pipeline > 1 ? layout.chunks_per_stage : 1; }
  void deal_layers(const Layout& layout);
  void price_chunks(const Layout& layout, const LayerCosts& found, const DataTimes& times);
  void add_blocks(const Layout& layout, const LayerCosts& found, const DataTimes& times, Passes& spent,
                  Chunk& chunk) const;
  void slow_last_backwards(const Layout& layout);
  bool scattering_holds_up(const Layout& layout) const;
  void scatter_beside(const Layout& layout, const LayerCosts& found, const DataTimes& times, Chunk& chunk) const;
  Scattering scattering(const Chunk& chunk, const LayerCosts& found, const DataTimes& times, bool apart) const;
  void move_beside(const Layout& layout, const DataTimes& times, Chunk& chunk) const;
  const DataTimes& data_of(const Layout& layout, const LayoutGroups& shapes);
  Seconds reduction_left(const Layout& layout, std::size_t stage) const;
  struct Way;
  Way way(const LayerCosts& found) const;
  struct Played;
  Played played(const Layout& layout, Seconds transfer);
  void price_update(const Layout& layout, const LayoutGroups& shapes, const LayerCosts& found, const Passes& spent,
                    StepLosses& losses);
};

}  // namespace trainyard::simulator
