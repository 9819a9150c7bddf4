// Layout: how a model and a batch are laid out over the ranks.
//
//   ranks = tp * cp * dp * pp        (dense factorisation)
//   ranks = etp * ep * edp * pp      (expert factorisation of the same ranks)
//   global batch = micro_batch * accumulation * dp      sequences
//
// The degrees multiply; the rest says what each degree does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/program/data_type.h"
#include "core/units/count.h"

namespace trainyard {

enum class ScheduleKind : std::uint8_t { kGpipe, k1f1b, kInterleaved };
std::string_view to_string(ScheduleKind kind);  // "gpipe", "1f1b", "interleaved"

enum class Recompute : std::uint8_t { kNone, kFull };  // full: layer inputs kept, layers run again
std::string_view to_string(Recompute recompute);

struct Layout {
  int tensor = 1;
  int pipeline = 1;
  int data = 1;
  int context = 1;
  int expert = 1;
  int expert_tensor = 1;
  // tp ranks share the tokens of norms and residuals; f and g become all-gather and reduce-scatter.
  bool sequence_parallel = false;
  // 0: everything replicated over dp. 1: optimizer state sharded. 2: gradients too. 3: parameters too.
  int zero_stage = 0;
  ScheduleKind schedule = ScheduleKind::k1f1b;
  int chunks_per_stage = 1;       // virtual pipeline; > 1 needs kInterleaved
  std::int64_t micro_batch = 1;   // sequences per micro-batch on one dp rank
  std::int64_t accumulation = 1;  // micro-batches per step on one dp rank
  Recompute recompute = Recompute::kNone;
  ByteCount bucket_bytes = ByteCount(std::int64_t{25} << 20);  // gradients reduced together; PyTorch DDP's default
  // Gradients of a bucket are reduced while earlier layers still compute. Off: after the last backward.
  bool overlap_gradient_reduce = true;
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
