// FusedShape: what a library's fused attention is built for, and where its operands lie in the arrays that
// Device::attention_forward documents.
//
// Fused attention is for bf16 and fp16, and for heads whose rows are whole packs of 16 bytes. Everything else is our
// own kernels', which take every shape up to their tile. Steps that differ only in what a fused kernel does not see
// (query tiles, a window as long as the sequence) share a FusedShape, so that its plan is made once.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "core/program/operation.h"

namespace trainyard::executor {

constexpr std::int64_t kFusedAlignment = 16;  // bytes: of addresses, of rows and of heads
constexpr std::int64_t kLargestFusedHead = 128;

struct FusedShape {
  std::int64_t sequences = 0;
  std::int64_t query_heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t rows = 0;  // of a sequence, queries as keys
  std::int64_t head_size = 0;
  std::int64_t value_size = 0;
  std::int64_t window = 0;  // as Attention::window, less than rows; 0: all
  bool causal = true;
  AttentionPass pass = AttentionPass::kForward;
  DataType type = DataType::kBf16;
  friend auto operator<=>(const FusedShape&, const FusedShape&) = default;
};

// Empty: for our own kernels. type: of the elements.
std::optional<FusedShape> fused_shape(const Attention& attention, DataType type);

// For messages: "backward of 4 x 2048 rows, 32 / 8 heads of 128, bf16".
std::string to_string(const FusedShape& shape);

// An operand as [sequence, head, row, element], in elements.
struct FusedTensor {
  std::int64_t offset = 0;  // of its first element in its array
  std::array<std::int64_t, 4> sizes{};
  std::array<std::int64_t, 4> strides{};
  friend bool operator==(const FusedTensor&, const FusedTensor&) = default;
};

// Gradients lie as what they are gradients of.
struct FusedTensors {
  FusedTensor query, key, value;  // in qkv
  FusedTensor out;                // whole
  FusedTensor statistics;         // log_sum_exp, fp32, one element a row
  float scale = 1.0f;             // of scores
};
FusedTensors fused_tensors(const FusedShape& shape);

// Whether fused kernels can read and write there.
bool fused_alignment(std::initializer_list<const void*> arrays);

}  // namespace trainyard::executor
