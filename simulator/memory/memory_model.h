// MemoryModel: price_memory for many layouts of one workload on one machine.
//
// What doesn't depend on the layout is counted once; a layout then costs a few hundred floating-point operations
// and no allocation. price() only reads: one model serves all threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/layout/layout.h"
#include "core/model/layer_shape.h"
#include "core/plan/infeasible.h"
#include "core/units/count.h"
#include "simulator/memory/memory_habits.h"
#include "simulator/memory/memory_price.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

class MemoryModel {
 public:
  MemoryModel(const Workload& workload, const Machine& machine, const MemoryHabits& habits = {});

  // Of the worst stage. The layout's degrees divide what they cut.
  MemoryPrice price(const Layout& layout) const;

  // Of each stage, in order; price() is the one that needs most.
  std::vector<MemoryPrice> stages(const Layout& layout) const;

  // What a rank's device has.
  ByteCount available() const { return available_; }

 private:
  static constexpr std::size_t kMostKinds = 4;  // with experts or not, full attention or a window

  // A layer's parameters by how a layout cuts them.
  struct Parameters {
    double tensor = 0.0;   // over tp
    double whole = 0.0;    // on every tp rank
    double expert = 0.0;   // over ep and etp
    double largest = 0.0;  // of one product, over tp: a weight's gradient is as large
    double largest_expert = 0.0;
  };
  struct Stage;
  struct Costs;
  struct Held;
  struct Pass;
  struct Passing {
    double gathered = 0.0;
    double buckets = 0.0;
  };

  static Parameters parameters_of(const LayerShape& layer);
  Costs costs_of(const Layout& layout) const;
  Stage stage_of(const Layout& layout, int stage) const;
  void add_blocks(Costs& costs, const Layout& layout) const;
  void add_program_layer(Costs& costs, const Layout& layout, std::size_t kind, double tokens) const;
  void add_chunk(Stage& stage, const Layout& layout, std::int64_t chunk, std::int64_t chunks) const;
  Held held_by(const Layout& layout, const Costs& costs, const Stage& stage) const;
  Passing passing(const Layout& layout, const Costs& costs, const Held& held) const;
  Pass pass_of(const Layout& layout, const Costs& costs, const Stage& stage, const Held& held) const;
  static double activations_of(const Stage& stage, const Held& held);
  double need_of(const Layout& layout, const Costs& costs, const Stage& stage) const;
  MemoryPrice priced(const Layout& layout, const Costs& costs, const Stage& stage) const;

  ModelShape shape_;
  std::size_t kinds_ = 0;
  std::array<Parameters, kMostKinds> parameters_{};
  Parameters multi_token_;                                    // of all such blocks
  std::vector<std::array<std::int32_t, kMostKinds>> before_;  // layers of each kind before this one
  double sequence_ = 0.0;
  MemoryHabits habits_;
  ByteCount available_;
  double runtime_ = 0.0;
};

// Names the stage, its first rank and the cause that holds most, with the amounts; nothing where it fits.
std::optional<Infeasible> exceeds_memory(const MemoryPrice& price, const Layout& layout, ByteCount available);

}  // namespace trainyard::simulator
