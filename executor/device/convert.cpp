#include "executor/device/convert.h"

#include <algorithm>

#include "core/error.h"
#include "executor/device/vector_clones.h"
#include "executor/kernel/serial_group.h"

namespace trainyard::executor {

TRAINYARD_VECTOR_CLONES void widen(const Bfloat16* from, float* to, std::int64_t elements) {
  SerialGroup().each(elements, [&](std::int64_t i) { to[i] = load(from + i); });
}

TRAINYARD_VECTOR_CLONES void widen(const Float16* from, float* to, std::int64_t elements) {
  SerialGroup().each(elements, [&](std::int64_t i) { to[i] = load(from + i); });
}

TRAINYARD_VECTOR_CLONES void narrow(const float* from, Bfloat16* to, std::int64_t elements) {
  SerialGroup().each(elements, [&](std::int64_t i) { store(to + i, from[i]); });
}

TRAINYARD_VECTOR_CLONES void narrow(const float* from, Float16* to, std::int64_t elements) {
  SerialGroup().each(elements, [&](std::int64_t i) { store(to + i, from[i]); });
}

void to_floats(ConstValues from, float* to, std::int64_t elements) {
  if (from.type == DataType::kBf16) {
    widen(from.as<Bfloat16>(), to, elements);
    return;
  }
  if (from.type == DataType::kFp16) {
    widen(from.as<Float16>(), to, elements);
    return;
  }
  check(from.type == DataType::kFp32, "arrays are of fp32, bf16 or fp16");
  std::copy_n(from.as<float>(), elements, to);
}

void from_floats(const float* from, Values to, std::int64_t elements) {
  if (to.type == DataType::kBf16) {
    narrow(from, to.as<Bfloat16>(), elements);
    return;
  }
  if (to.type == DataType::kFp16) {
    narrow(from, to.as<Float16>(), elements);
    return;
  }
  check(to.type == DataType::kFp32, "arrays are of fp32, bf16 or fp16");
  std::copy_n(from, elements, to.as<float>());
}

}  // namespace trainyard::executor
