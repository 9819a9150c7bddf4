// Matrices rounded to what fp8 holds, on the CPU, which multiplies them in bf16.
#include <algorithm>
#include <mutex>

#include "executor/device/cpu_kernels.h"
#include "executor/device/tiles.h"
#include "executor/device/vector_clones.h"
#include "executor/kernel/float8.h"
#include "executor/kernel/serial_group.h"

namespace trainyard::executor::cpu {

namespace {

constexpr SerialGroup kGroup;

TRAINYARD_VECTOR_CLONES std::uint32_t largest_magnitude(const Bfloat16* values, std::int64_t elements) {
  std::uint32_t most = 0;
  kGroup.each(elements, [&](std::int64_t i) { most = std::max(most, magnitude_bits(load(values + i))); });
  return most;
}

template <class F>
TRAINYARD_VECTOR_CLONES void round_range(const Bfloat16* from, Bfloat16* to, float scale, std::int64_t elements) {
  const float inverse = 1.0f / scale;
  kGroup.each(elements, [&](std::int64_t i) {
    F narrow{};
    store(&narrow, load(from + i) * scale);
    store(to + i, load(&narrow) * inverse);  // exact: a bf16 holds more digits, and a power of two takes none
  });
}

template <class F>
void round_to(ThreadPool& pool, const Bfloat16* from, Bfloat16* to, std::int64_t elements) {
  std::uint32_t largest = 0;
  std::mutex mutex;
  for_each_range(pool, elements, kTileElements, [&](std::int64_t begin, std::int64_t end) {
    const std::uint32_t most = largest_magnitude(from + begin, end - begin);
    const std::lock_guard lock(mutex);
    largest = std::max(largest, most);
  });
  const float scale = float8_scale<F>(largest);
  for_each_range(pool, elements, kTileElements, [&](std::int64_t begin, std::int64_t end) {
    round_range<F>(from + begin, to + begin, scale, end - begin);
  });
}

}  // namespace

void round_to_fp8(ThreadPool& pool, const Bfloat16* from, Bfloat16* to, std::int64_t elements, bool gradient) {
  gradient ? round_to<Float8E5M2>(pool, from, to, elements) : round_to<Float8E4M3>(pool, from, to, elements);
}

}  // namespace trainyard::executor::cpu
