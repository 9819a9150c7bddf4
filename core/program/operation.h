// What a segment computes: matrix products, attention, elementwise passes over memory.
//
//   Gemm        C[m,n] (+)= A[m,k] B[k,n], `batch` times         2 * batch * m * n * k FLOPs
//   Attention   softmax(Q K^T / sqrt(d)) V by query tiles         see attention_flops()
//   Elementwise one pass over memory                              bytes read + bytes written
//
// FLOPs are counted as the executor's matmuls count them at the call: exact integers. Elementwise work is
// priced by bytes; its few FLOPs are not counted, on either side.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "core/program/data_type.h"
#include "core/units/count.h"

namespace trainyard {

enum class Transpose : std::uint8_t { kNN, kNT, kTN };  // storage of A and B as read by the product

// Which operand is a gradient: fp8 gives it e5m2, with more range, and all else e4m3, with more digits.
enum class GradientOperand : std::uint8_t { kNone, kA, kB };

struct Gemm {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DataType type = DataType::kFp32;
  Transpose transpose = Transpose::kNT;
  bool accumulate = false;  // C += instead of C =; reads C once more
  GradientOperand gradient = GradientOperand::kNone;
  friend bool operator==(const Gemm&, const Gemm&) = default;
};

enum class AttentionMask : std::uint8_t { kNone, kCausal };
enum class AttentionPass : std::uint8_t { kForward, kBackward };

// One (sequence, query head) at a time: queries in tiles of `query_tile` rows, each against the keys that
// its mask lets it see. Forward keeps only the log-sum-exp per row; backward recomputes the scores.
struct Attention {
  std::int64_t sequences = 0;
  std::int64_t query_heads = 0;
  std::int64_t key_heads = 0;  // grouped-query attention: query_heads is a multiple
  std::int64_t queries = 0;    // rows per sequence
  std::int64_t keys = 0;
  std::int64_t head_size = 0;
  AttentionMask mask = AttentionMask::kCausal;
  AttentionPass pass = AttentionPass::kForward;
  std::int64_t query_tile = 0;
  DataType type = DataType::kFp32;
  std::int64_t value_size = 0;  // of a head's values; 0: head_size
  std::int64_t window = 0;      // kCausal: a query sees so many of the keys up to its own; 0: all
  std::int64_t values() const { return value_size > 0 ? value_size : head_size; }
  friend bool operator==(const Attention&, const Attention&) = default;
};

// Which kernel passes over memory; calibration measures a curve for each.
enum class ElementwiseKernel : std::uint8_t {
  kEmbedForward,
  kEmbedBackward,
  kAdd,           // residual at a stage boundary
  kNormForward,   // residual add fused with RMSNorm
  kNormBackward,  // input gradient
  kNormWeightBackward,
  kRopeForward,
  kRopeBackward,
  kSwigluForward,
  kSwigluBackward,
  kLossStatistics,  // row maximum, sum of exponentials, target's logit over this rank's vocabulary slice
  kLossGradient,    // logits -> their gradient, in place
  kSumOfSquares,    // gradient norm
  kAdamW,
  kSgd,
  kCopy,
  kZero,
  kGeluForward,  // any activation without a gate
  kGeluBackward,
  kBiasBackward,  // sum of a gradient over tokens
  kPositionForward,
  kPositionBackward,  // sum of a gradient over sequences
};
constexpr int kElementwiseKernels = static_cast<int>(ElementwiseKernel::kPositionBackward) + 1;

std::string_view to_string(ElementwiseKernel kernel);  // "norm_forward", ...

struct Elementwise {
  ElementwiseKernel kernel = ElementwiseKernel::kCopy;
  std::int64_t elements = 0;  // of the kernel's main operand
  ByteCount read;
  ByteCount written;
  friend bool operator==(const Elementwise&, const Elementwise&) = default;
};

using Operation = std::variant<Gemm, Attention, Elementwise>;

// Query rows of tile t, and the keys that the tile sees. Causal: the queries are the last `queries` of `keys`
// positions, and the tile sees what its last row sees, keys - queries + first_row + rows; with a window of w, the last
// w + rows - 1 of them.
struct AttentionTile {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t keys = 0;
};
std::int64_t attention_tiles(const Attention& attention);
AttentionTile attention_tile(const Attention& attention, std::int64_t tile);

// FLOPs of the matrix products inside: per tile 2 products of 2*rows*keys*head_size forward (QK^T, PV) and
// 5 backward (QK^T again, dV, dP, dQ, dK), times sequences and query heads. Values of another size than keys: PV, dV
// and dP are of that size.
FlopCount attention_flops(const Attention& attention);

FlopCount flops(const Operation& operation);
// Bytes through memory, operands once each; a lower bound for Gemm and Attention. Attention forward reads
// Q, K, V and writes O and the log-sum-exp (fp32); backward reads all of these and dO, and writes dQ, dK, dV.
ByteCount bytes_moved(const Operation& operation);

}  // namespace trainyard
