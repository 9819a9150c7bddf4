#include "executor/communicator/reduction.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"

namespace trainyard::executor {
namespace {

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

template <class T, class Op>
void accumulate_typed(T* __restrict into, const T* __restrict from, std::int64_t elements, Op op) {
  for (std::int64_t i = 0; i < elements; ++i) {
    into[i] = op(into[i], from[i]);
  }
}

// By blocks that stay in the first-level cache, so that out may be an input and memory is passed once.
template <class T, class Op>
void accumulate_in_order_typed(std::span<const void* const> inputs, T* out, std::int64_t elements, Op op) {
  constexpr std::int64_t kBlock = 1024;
  std::array<T, kBlock> sum;
  for (std::int64_t begin = 0; begin < elements; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, elements - begin);
    std::copy_n(static_cast<const T*>(inputs[0]) + begin, count, sum.data());
    for (std::size_t j = 1; j < inputs.size(); ++j) {
      accumulate_typed(sum.data(), static_cast<const T*>(inputs[j]) + begin, count, op);
    }
    std::copy_n(sum.data(), count, out + begin);
  }
}

// Calls function(T{}, op) for the element type and operation.
template <class Function>
void dispatch(DataType type, ReduceOp op, Function function) {
  const auto with_type = [&](auto zero) { op == ReduceOp::kSum ? function(zero, Sum{}) : function(zero, Max{}); };
  switch (type) {
    case DataType::kFp32:
    case DataType::kTf32:
      return with_type(float{});
    case DataType::kFp64:
      return with_type(double{});
    case DataType::kInt64:
      return with_type(std::int64_t{});
    case DataType::kInt32:
      return with_type(std::int32_t{});
    case DataType::kFp16:
    case DataType::kBf16:
    case DataType::kFp8:
    case DataType::kMxFp8:
    case DataType::kNvFp4:
      break;
  }
  throw Error("can't reduce tensors of type " + std::string(to_string(type)), "communicator",
              "reduce in fp32, fp64, int32 or int64");
}

}  // namespace

void require_reducible(DataType type) {
  dispatch(type, ReduceOp::kSum, [](auto, auto) {});
}

void accumulate(void* into, const void* from, std::int64_t elements, DataType type, ReduceOp op) {
  dispatch(type, op, [&]<class T>(T, auto operation) {
    accumulate_typed(static_cast<T*>(into), static_cast<const T*>(from), elements, operation);
  });
}

void accumulate_in_order(std::span<const void* const> inputs, void* out, std::int64_t elements, DataType type,
                         ReduceOp op) {
  dispatch(type, op, [&]<class T>(T, auto operation) {
    accumulate_in_order_typed(inputs, static_cast<T*>(out), elements, operation);
  });
}

}  // namespace trainyard::executor
