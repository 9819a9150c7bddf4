// MemoryPrice: a rank's memory at its worst moment, by cause, in closed form, for any layout.
//
// Quick enough to be asked of every layout of a search; the program's buffers (estimate_memory.h) give the same
// causes exactly for the layouts that a program expresses. With P a stage's parameters on a rank, N the ranks that
// share them out, m micro-batches in flight and A the bytes that a micro-batch leaves for its backward pass:
//
//   parameters p P (/ N under ZeRO 3) + gradients g P (/ N from ZeRO 2 on) + optimizer (4 + 2 o) P (/ N from 1 on)
//     + m A + the larger of the loss's logits and of a weight's gradient + what is gathered and bucketed + runtime
//
// (Rajbhandari et al. 2020, section 3; Korthikanti et al. 2022, sections 4 and 5; Megatron-LM's
// theoretical_memory_usage.py.) Equations of A: activation_memory.h; of m: in_flight.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/layout/layout.h"
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
  kPadding,       // vocabulary rounded up
  kWorkspace,     // kernels' scratch, context of the runtime
  kFragmentation,
};
constexpr int kMemoryUses = static_cast<int>(MemoryUse::kFragmentation) + 1;
std::string_view to_string(MemoryUse use);  // "parameters", ...

struct MemoryPrice {
  std::array<ByteCount, kMemoryUses> by_use{};
  ByteCount total;      // what the device must have: nvidia-smi's figure
  ByteCount allocated;  // of it in tensors: torch.cuda.max_memory_allocated()
  int stage = 0;        // whose ranks need most

  ByteCount of(MemoryUse use) const { return by_use.at(static_cast<std::size_t>(use)); }
};

// Of the worst stage. For many layouts of one workload see MemoryModel.
MemoryPrice price_memory(const Workload& workload, const Machine& machine, const Layout& layout);

}  // namespace trainyard::simulator
