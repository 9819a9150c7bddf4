// How kernels that pass over memory cut their work: by shape alone, never by the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "executor/device/thread_pool.h"

namespace trainyard::executor {

// 128 KiB of fp32: well above the cost of handing out a tile, and a few operands of it fit the L2 cache.
constexpr std::int64_t kTileElements = 32768;
// Columns that one tile of a sum over tokens owns: 1 KiB of a row of fp32, so that a row's part is a few cache lines.
constexpr std::int64_t kTileColumns = 256;

// work(begin, end) over [0, units), in tiles of `units_per_tile`.
template <class Work>
void for_each_range(ThreadPool& pool, std::int64_t units, std::int64_t units_per_tile, const Work& work) {
  const std::int64_t tiles = (units + units_per_tile - 1) / units_per_tile;
  pool.for_each_tile(tiles, [&](std::int64_t tile) {
    const std::int64_t begin = tile * units_per_tile;
    work(begin, std::min(units, begin + units_per_tile));
  });
}

// Over rows of `width` elements each.
template <class Work>
void for_each_row_range(ThreadPool& pool, std::int64_t rows, std::int64_t width, const Work& work) {
  for_each_range(pool, rows, std::max<std::int64_t>(1, kTileElements / std::max<std::int64_t>(1, width)), work);
}

}  // namespace trainyard::executor
