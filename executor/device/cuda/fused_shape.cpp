#include "executor/device/cuda/fused_shape.h"

#include "core/error.h"
#include "executor/device/cuda/kernels/attention_shape.h"

namespace trainyard::executor {

namespace {

bool packs(std::int64_t elements, DataType type) { return elements * size_of(type) % kFusedAlignment == 0; }

AttentionShape addresses(const FusedShape& shape) {
  return AttentionShape(Attention{.sequences = shape.sequences,
                                  .query_heads = shape.query_heads,
                                  .key_heads = shape.key_heads,
                                  .queries = shape.rows,
                                  .keys = shape.rows,
                                  .head_size = shape.head_size,
                                  .value_size = shape.value_size});
}

// address(sequence, head) is where a head's first row begins; rows are row_stride apart.
template <class Address>
FusedTensor tensor(const FusedShape& shape, std::int64_t heads, std::int64_t size, std::int64_t row_stride,
                   const Address& address) {
  const std::int64_t first = address(0, 0);
  return {.offset = first,
          .sizes = {shape.sequences, heads, shape.rows, size},
          .strides = {address(1, 0) - first, address(0, 1) - first, row_stride, 1}};
}

}  // namespace

std::optional<FusedShape> fused_shape(const Attention& attention, DataType type) {
  check(attention.queries == attention.keys, "queries, keys and values share the rows of qkv");
  check(attention.key_heads > 0 && attention.query_heads % attention.key_heads == 0,
        "query heads are a multiple of key heads");
  const bool narrow = type == DataType::kBf16 || type == DataType::kFp16;
  const bool fits = attention.head_size <= kLargestFusedHead && attention.values() <= kLargestFusedHead;
  const std::int64_t statistics = attention.sequences * attention.query_heads * attention.queries;
  if (!narrow || !fits || !packs(attention.head_size, type) || !packs(attention.values(), type) ||
      !packs(statistics, DataType::kFp32) || attention.sequences == 0 ||
      attention.queries < 2) {  // a row alone has nothing to attend to but itself
    return std::nullopt;
  }
  const bool causal = attention.mask == AttentionMask::kCausal;
  return FusedShape{.sequences = attention.sequences,
                    .query_heads = attention.query_heads,
                    .key_heads = attention.key_heads,
                    .rows = attention.queries,
                    .head_size = attention.head_size,
                    .value_size = attention.values(),
                    .window = causal && attention.window < attention.queries ? attention.window : 0,
                    .causal = causal,
                    .pass = attention.pass,
                    .type = type};
}

std::string to_string(const FusedShape& shape) {
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  std::string size = text(shape.head_size);
  if (shape.value_size != shape.head_size) {
    size += " and " + text(shape.value_size);
  }
  return std::string(shape.pass == AttentionPass::kForward ? "forward" : "backward") + " of " + text(shape.sequences) +
         " x " + text(shape.rows) + " rows, " + text(shape.query_heads) + " / " + text(shape.key_heads) + " heads of " +
         size + ", " + std::string(trainyard::to_string(shape.type)) + (shape.causal ? "" : ", no mask") +
         (shape.window > 0 ? ", a window of " + text(shape.window) : "");
}

FusedTensors fused_tensors(const FusedShape& shape) {
  const AttentionShape at = addresses(shape);
  FusedTensors tensors;
  tensors.query = tensor(shape, shape.query_heads, shape.head_size, at.width(),
                         [&](std::int64_t sequence, std::int64_t head) { return at.query(sequence, head); });
  tensors.key = tensor(shape, shape.key_heads, shape.head_size, at.width(),
                       [&](std::int64_t sequence, std::int64_t head) { return at.key(sequence, head); });
  tensors.value = tensor(shape, shape.key_heads, shape.value_size, at.width(),
                         [&](std::int64_t sequence, std::int64_t head) { return at.value(sequence, head); });
  tensors.out = tensor(shape, shape.query_heads, shape.value_size, at.out_width(),
                       [&](std::int64_t sequence, std::int64_t head) { return at.out(sequence, head); });
  tensors.statistics = tensor(shape, shape.query_heads, 1, 1,
                              [&](std::int64_t sequence, std::int64_t head) { return at.statistics(sequence, head); });
  tensors.scale = at.scale;
  return tensors;
}

bool fused_alignment(std::initializer_list<const void*> arrays) {
  bool all = true;
  for (const void* array : arrays) {
    all = all && reinterpret_cast<std::uintptr_t>(array) % static_cast<std::uintptr_t>(kFusedAlignment) == 0;
  }
  return all;
}

}  // namespace trainyard::executor
