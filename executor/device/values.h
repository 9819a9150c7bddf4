// Values: an array in device memory and the type of its elements, fp32, bf16 or fp16.
//
// A float pointer converts by itself: fp32 code reads as it would without types. Null: no array.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/program/data_type.h"
#include "executor/kernel/bfloat16.h"
#include "executor/kernel/float16.h"

namespace trainyard::executor {

struct Values {
  void* data = nullptr;
  DataType type = DataType::kFp32;

  Values() = default;
  Values(std::nullptr_t) {}
  Values(float* values) : data(values) {}
  Values(Bfloat16* values) : data(values), type(DataType::kBf16) {}
  Values(Float16* values) : data(values), type(DataType::kFp16) {}
  Values(void* memory, DataType of) : data(memory), type(of) {}

  explicit operator bool() const { return data != nullptr; }
  // From that element on; null stays null.
  Values operator+(std::int64_t elements) const {
    return data == nullptr ? *this : Values(static_cast<std::byte*>(data) + elements * size_of(type), type);
  }
  // The caller knows the type.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

struct ConstValues {
  const void* data = nullptr;
  DataType type = DataType::kFp32;

  ConstValues() = default;
  ConstValues(std::nullptr_t) {}
  ConstValues(const float* values) : data(values) {}
  ConstValues(const Bfloat16* values) : data(values), type(DataType::kBf16) {}
  ConstValues(const Float16* values) : data(values), type(DataType::kFp16) {}
  ConstValues(const void* memory, DataType of) : data(memory), type(of) {}
  ConstValues(Values values) : data(values.data), type(values.type) {}

  explicit operator bool() const { return data != nullptr; }
  ConstValues operator+(std::int64_t elements) const {
    return data == nullptr ? *this : ConstValues(static_cast<const std::byte*>(data) + elements * size_of(type), type);
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

}  // namespace trainyard::executor
