// Layout: how a model and a batch are laid out over the ranks.
//
//   ranks = tp * cp * dp * pp        (dense factorisation)
//   ranks = etp * ep * edp * pp      (expert factorisation of the same ranks)
//   global batch = micro_batch * accumulation * dp      sequences
//
// The degrees multiply; the rest says what each degree does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/program/data_type.h"
#include "core/units/count.h"

namespace trainyard {

enum class ScheduleKind : std::uint8_t {
  kGpipe,
  k1f1b,
  kInterleaved,
  kZeroBubbleH1,  // Qi et al. 2023: weight gradients fill the bubble, at 1F1B's memory
  kZeroBubbleH2,  // no bubble but the fill, at twice 1F1B's memory
  kZeroBubbleV,   // two chunks a stage, the second placed backwards; at 1F1B's memory
  kDualPipe,      // DeepSeek-V3: two streams from both ends, two copies of the parameters
};
constexpr int kScheduleKinds = static_cast<int>(ScheduleKind::kDualPipe) + 1;
std::string_view to_string(ScheduleKind kind);  // "gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe"

enum class Recompute : std::uint8_t {
  kNone,
  kSelective,  // attention's scores again (Korthikanti et al. 2022, section 5); flash kernels do so anyway
  kFull,       // layer inputs kept, layers run again
};
std::string_view to_string(Recompute recompute);  // "none", "selective", "full"

// How context-parallel ranks see each other's keys and values.
enum class ContextKind : std::uint8_t {
  kRing,       // blocks pass around a ring behind the attention on the last one (Liu et al. 2023)
  kUlysses,    // all-to-all from tokens to heads and back (Jacobs et al. 2023); needs key heads % cp == 0
  kAllGather,  // keys and values gathered first (Llama 3, section 3.3.2)
};
std::string_view to_string(ContextKind kind);  // "ring", "ulysses", "all-gather"

// What lives in host memory between uses and crosses PCIe.
struct Offload {
  bool optimizer = false;    // state and its update
  bool activations = false;  // from forward to backward
  bool parameters = false;   // of layers not at work
  friend bool operator==(const Offload&, const Offload&) = default;
};

struct Layout {
  int tensor = 1;
  int pipeline = 1;
  int data = 1;
  int context = 1;
  int expert = 1;
  int expert_tensor = 1;
  // tp ranks share the tokens of norms and residuals; f and g become all-gather and reduce-scatter.
  bool sequence_parallel = false;
  ContextKind context_kind = ContextKind::kRing;
  // 0: everything replicated over dp x cp. 1: optimizer state sharded. 2: gradients too. 3: parameters too (FSDP).
  int zero_stage = 0;
  // ZeRO shards over groups of so many dp x cp ranks and replicates between groups (HSDP); none: over all.
  std::optional<int> shard_group;
  ScheduleKind schedule = ScheduleKind::k1f1b;
  int chunks_per_stage = 1;  // virtual pipeline; > 1 needs kInterleaved, 2 with kZeroBubbleV and kDualPipe
  // Layers of each model chunk in the order of the forward pass, pp * chunks_per_stage of them; empty: as even as can
  // be. The embedding comes before the first, the loss after the last, so that their chunks may hold fewer.
  std::vector<int> chunk_layers;
  std::int64_t micro_batch = 1;   // sequences per micro-batch on one dp rank
  std::int64_t accumulation = 1;  // micro-batches per step on one dp rank
  Recompute recompute = Recompute::kNone;
  int recompute_every = 1;  // of the layers of a chunk, one in so many is run again
  Offload offload;
  ByteCount bucket_bytes = ByteCount(std::int64_t{25} << 20);  // gradients reduced together; PyTorch DDP's default
  // Gradients of a bucket are reduced while earlier layers still compute. Off: after the last backward.
  bool overlap_gradient_reduce = true;
  bool overlap_parameter_gather = false;  // updated parameters gathered behind the next forward (ZeRO 1, 2)
  bool overlap_tensor = false;            // tensor-parallel communication in pieces behind the products beside it
  bool overlap_pipeline = false;          // stage transfers behind compute
  bool overlap_expert = false;            // experts' all-to-all behind another micro-batch's compute
  // Sums over dp in rank order (direct exchange) instead of around the ring.
  bool strict_reduction = false;
  std::string rank_order = "tp-cp-ep-dp-pp";  // innermost first, see mesh.h
  DataType compute_type = DataType::kFp32;
  DataType parameter_type = DataType::kFp32;
  DataType gradient_type = DataType::kFp32;
  DataType optimizer_type = DataType::kFp32;
  DataType communication_type = DataType::kFp32;  // activations and parameters on the wire

  std::int64_t ranks() const { return std::int64_t{tensor} * context * data * pipeline; }
  std::int64_t sequences_per_step() const { return micro_batch * accumulation * data; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

// "tp2 pp2 zero1 1f1b mbs4 ga8": degrees of one and defaults left out, micro-batch and accumulation always
// there; one rank is "dp1 ...".
std::string describe(const Layout& layout);

}  // namespace trainyard
