// Buffer: a piece of a rank's memory with a size, a reason to exist, and a lifetime within the step.
//
// The memory of a rank over the step falls out of these, gathered shards and stashes included. The arena
// (arena.h) places them; the executor allocates exactly this and nothing else that grows with the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/program/data_type.h"
#include "core/units/count.h"
#include "core/units/index.h"

namespace trainyard {

// Why the memory is held: the rows of a memory table.
enum class MemoryCause : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizer,
  kActivations,   // kept from forward for backward
  kGradientFlow,  // activation gradients on their way back
  kLogits,
  kBoundary,   // sent to or received from the neighbouring stage
  kWorkspace,  // lives within a segment
  kTokens,
  kGathered,       // parameters of other ranks' shards, and gradients before they are scattered (ZeRO 2, 3)
  kFragmentation,  // arena bytes that no buffer uses at the peak
  kRuntime,        // the process itself: libraries, threads, communicator buffers
};
constexpr int kMemoryCauses = static_cast<int>(MemoryCause::kRuntime) + 1;
std::string_view to_string(MemoryCause cause);

// What is in it. Instructions find their operands by content among their reads and writes: the table in
// operands.h lists, per segment and pass, which contents are read and written. t: tokens of the micro-batch
// on this rank; h: hidden; a, g: this rank's query and key heads; d: head size; f: this rank's feed-forward
// columns; v: this rank's vocabulary rows.
enum class BufferContent : std::uint8_t {
  kParameters,     // a bucket's parameters, concatenated [elements]
  kGradients,      // a bucket's gradients [elements]
  kMomentum,       // AdamW's m, or SGD's velocity, of this rank's shard [shard elements]
  kVariance,       // AdamW's v [shard elements]
  kMaster,         // fp32 copy that the optimizer updates, where parameters are narrower [shard elements]
  kTokens,         // [microbatches, t] int32: the inputs of a whole step, filled before it starts
  kTargets,        // [microbatches, t] int32
  kBranch,         // [t, h] output of embedding, attention or mlp: partial before g, complete after
  kResidual,       // [t, h] residual stream after the addition
  kNormed,         // [t, h] RMSNorm's output
  kRstd,           // [t] 1 / sqrt(mean square + eps); of LayerNorm [t, 2] mean, 1 / sqrt(variance + eps)
  kQkv,            // [t, (a + 2 g) d] queries and keys after rope, values
  kAttention,      // [t, a d] attention output
  kLogSumExp,      // [sequences, a, queries]
  kGateUp,         // [t, 2 f] gate and up products
  kActivated,      // [t, f] SwiGLU's output
  kLogits,         // [t, v], turned into their gradient in place by the loss
  kStatistics,     // [tp, t, 3] row maximum, sum of exponentials, target's logit (or -inf), of each tp rank
  kResidualGrad,   // [t, h] gradient of the residual stream
  kNormedGrad,     // [t, h] gradient of normed: partial before f, complete after
  kQkvGrad,        // [t, (a + 2 g) d]
  kAttentionGrad,  // [t, a d]
  kGateUpGrad,     // [t, 2 f]
  kActivatedGrad,  // [t, f]
  kSums,           // fixed-point accumulators of gradient norm and loss, see norm_sum.h [2 * limbs] int64
  kKeyValue,       // [t, 2 g d] keys and values of another context-parallel rank
  kKeyValueGrad,   // [t, 2 g d] their gradient
  kRouting,        // [t, experts per token] weight of each choice
  kRouted,         // [routed tokens, h] in the order of their experts: tokens, or experts' outputs
  kRoutedGrad,     // [routed tokens, h]
};
std::string_view to_string(BufferContent content);

struct Buffer {
  BufferId id;
  BufferContent content = BufferContent::kBranch;
  MemoryCause cause = MemoryCause::kActivations;
  DataType type = DataType::kFp32;
  std::int64_t elements = 0;
  ByteCount bytes;
  std::optional<BucketId> bucket;  // parameters, gradients, optimizer state
  bool persistent = false;         // lives from step to step, outside the arena
  // Transient: the first and last instruction that need it.
  std::optional<InstructionId> first_use;
  std::optional<InstructionId> last_use;
  std::int64_t arena_offset = 0;  // placed by arena.h
};

}  // namespace trainyard
