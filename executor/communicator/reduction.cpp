#include "executor/communicator/reduction.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"
#include "executor/kernel/bfloat16.h"
#include "executor/kernel/float16.h"

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

// A 16-bit tensor travels as it is and is summed in fp32: what is stored is rounded, not what is added.
template <class T>
struct Wide {
  using Type = T;
};
template <>
struct Wide<Bfloat16> {
  using Type = float;
};
template <>
struct Wide<Float16> {
  using Type = float;
};

template <class T>
T read(const T* from) {
  return *from;
}
float read(const Bfloat16* from) { return load(from); }
float read(const Float16* from) { return load(from); }
template <class T>
void write(T* to, T value) {
  *to = value;
}
void write(Bfloat16* to, float value) { store(to, value); }
void write(Float16* to, float value) { store(to, value); }

template <class Into, class T, class Op>
void accumulate_typed(Into* __restrict into, const T* __restrict from, std::int64_t elements, Op op) {
  for (std::int64_t i = 0; i < elements; ++i) {
    write(into + i, op(read(into + i), read(from + i)));
  }
}

// By blocks that stay in the first-level cache, so that out may be an input and memory is passed once.
template <class T, class Op>
void accumulate_in_order_typed(std::span<const void* const> inputs, T* out, std::int64_t elements, Op op) {
  constexpr std::int64_t kBlock = 1024;
  std::array<typename Wide<T>::Type, kBlock> sum;
  for (std::int64_t begin = 0; begin < elements; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, elements - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      sum[static_cast<std::size_t>(i)] = read(static_cast<const T*>(inputs[0]) + begin + i);
    }
    for (std::size_t j = 1; j < inputs.size(); ++j) {
      accumulate_typed(sum.data(), static_cast<const T*>(inputs[j]) + begin, count, op);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      write(out + begin + i, sum[static_cast<std::size_t>(i)]);
    }
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
    case DataType::kBf16:
      return with_type(Bfloat16{});
    case DataType::kFp16:
      return with_type(Float16{});
    case DataType::kFp8:
    case DataType::kMxFp8:
    case DataType::kNvFp4:
      break;
  }
  throw Error("can't reduce tensors of type " + std::string(to_string(type)), "communicator",
              "reduce in fp32, bf16, fp16, fp64, int32 or int64");
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
