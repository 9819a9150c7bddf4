// MemoryPrice: a rank's memory at its worst moment, by cause, in closed form, for any layout.
//
// Quick enough to be asked of every layout of a search; the program's buffers (estimate_memory.h) give the same
// causes exactly for the layouts that a program expresses. Equations and sources beside each cause in the source.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/layout/layout.h"
#include "core/plan/infeasible.h"
#include "core/units/count.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

enum class MemoryUse : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizer,     // state and fp32 master weights
  kActivations,   // of micro-batches in flight, what recomputation leaves of them
  kGathered,      // parameter shards gathered for the layer at work (ZeRO 3), prefetched ones too
  kBuckets,       // gradients and parameters on their way
  kLogits,        // over the vocabulary, and their gradient
  kCommunicator,  // NCCL's channels
  kPadding,       // vocabulary, buckets and experts rounded up
  kWorkspace,     // kernels' scratch, context of the runtime
  kFragmentation,
};
constexpr int kMemoryUses = static_cast<int>(MemoryUse::kFragmentation) + 1;
std::string_view to_string(MemoryUse use);  // "parameters", ...

struct MemoryPrice {
  std::array<ByteCount, kMemoryUses> by_use{};
  ByteCount total;
  int stage = 0;  // whose ranks need most
};

// Of the worst stage.
MemoryPrice price_memory(const Workload& workload, const Machine& machine, const Layout& layout);

}  // namespace trainyard::simulator
