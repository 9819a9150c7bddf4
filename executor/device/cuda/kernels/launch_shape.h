// How a kernel is launched: blocks, threads in each, bytes of shared memory in each.
//
// A kernel is a struct of its operands with
//   static constexpr int kMaxThreads          the most threads a block has: bounds the registers
//   static constexpr int kBlocksPerProcessor  that registers must leave room for
//   LaunchShape shape() const
//   template <class Block> void operator()(Block& block) const   what each thread does (block_group.h)
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainyard::executor {

struct LaunchShape {
  std::int64_t blocks = 0;
  int threads = 0;
  int shared_bytes = 0;
};

// Threads for a row of n elements in packs of V, whole warps, at most `most`.
template <int V>
int row_threads(std::int64_t n, int most) {
  const std::int64_t packs = (n + V - 1) / V;
  return static_cast<int>(std::min<std::int64_t>(most, std::max<std::int64_t>(1, (packs + 31) / 32) * 32));
}

constexpr std::int64_t pieces(std::int64_t total, std::int64_t each) { return (total + each - 1) / each; }

}  // namespace trainyard::executor
