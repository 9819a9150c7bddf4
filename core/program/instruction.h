// Instruction: one thing that a rank does in a step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/program/communication.h"
#include "core/program/segment.h"
#include "core/units/count.h"
#include "core/units/index.h"

namespace trainyard {

enum class InstructionKind : std::uint8_t {
  kForward,
  kBackwardInput,
  kBackwardWeight,
  kRecompute,  // forward again, for the backward that follows
  kGather,     // all-gather: parameters (ZeRO), sequence-parallel activations, loss statistics
  kFree,       // gathered parameters given back
  kReduce,     // all-reduce or reduce-scatter: gradients, partial activations
  kAllToAll,
  kSend,
  kRecv,
  kGradientNorm,  // this rank's sum of squared gradients, of one bucket
  kNormReduce,    // sum of those, and of the loss, over all ranks
  kOptimizer,     // update of one bucket (its shard under ZeRO)
  kSnapshot,
  kOffload,
};
constexpr int kInstructionKinds = static_cast<int>(InstructionKind::kOffload) + 1;
std::string_view to_string(InstructionKind kind);  // "forward", ...

// Which pass of its segment an instruction runs; only for the kinds that have a segment.
Pass pass_of(InstructionKind kind);

// Work on one stream runs in the order of the list; between streams only the waits order it. The pipeline
// has a stream per direction and side, so that a send waiting for its receiver never holds up a receive.
enum class Stream : std::uint8_t {
  kCompute,
  kTensor,        // tensor-parallel collectives
  kData,          // data-parallel collectives
  kSendForward,   // activations to the next stage
  kRecvForward,   // activations from the previous stage
  kSendBackward,  // gradients to the previous stage
  kRecvBackward,  // gradients from the next stage
  kHostCopy,
};
constexpr int kStreams = static_cast<int>(Stream::kHostCopy) + 1;
std::string_view to_string(Stream stream);  // "compute", ...

// Waits for an instruction of this step (offset 0) or of an earlier one (offset -1: the previous step).
struct Dependency {
  InstructionId instruction;
  int step_offset = 0;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

struct Work {
  FlopCount flops;
  ByteCount bytes;  // through memory, by elementwise operations and the operands of products
};

struct Instruction {
  InstructionId id;
  InstructionKind kind = InstructionKind::kForward;
  Stream stream = Stream::kCompute;
  std::optional<int> microbatch;
  std::optional<int> chunk;  // virtual pipeline chunk on this rank
  std::optional<int> layer;  // transformer layer, global number
  std::optional<SegmentId> segment;
  std::optional<BucketId> bucket;
  bool accumulate = false;  // BackwardWeight adds to the gradients of earlier micro-batches
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
  std::vector<Dependency> waits;  // other streams' instructions only
  Work work;
  std::vector<Operation> operations;  // of GradientNorm and Optimizer; segments keep theirs in the table
  std::optional<Communication> communication;
};

}  // namespace trainyard
