#include "executor/run/rank_faults.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <thread>

#include "core/error.h"

namespace trainyard::executor {

RankFaults::RankFaults(const InjectedFaults& faults, Worker& worker, Device& device, Rank rank)
    : faults_(faults), worker_(worker), device_(device), rank_(rank) {}

void RankFaults::before_step(std::int64_t step) {
  for (const BitFlip& flipped : faults_.bit_flips) {
    if (flipped.step == step) {
      flip(flipped);
    }
  }
  if (faults_.hang_step == step && hanging_rank(faults_, worker_.program().mesh.ranks()) == rank_) {
    fmt::print(stderr, "injected: this rank hangs from step {} on\n", step);
    while (true) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
}

void RankFaults::flip(const BitFlip& flip) {
  const FlippedBit target = flipped_bit(faults_, flip, worker_.program());
  if (target.rank != rank_) {
    return;
  }
  for (const StateSlice& slice : worker_.state()) {
    if (slice.name() != flip.tensor || slice.memory.type != DataType::kFp32) {
      continue;
    }
    const ByteCount bytes(static_cast<std::int64_t>(sizeof(float)));
    const Values at = slice.memory + target.element;
    float value = 0;
    device_.copy_out(Stream::kCompute, &value, at.data, bytes);
    device_.synchronize();
    const float flipped = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (1U << unsigned(target.bit)));
    device_.copy_in(Stream::kCompute, at.data, &flipped, bytes);
    device_.synchronize();
    fmt::print(stderr, "injected: bit {} of element {} of this rank's {} flipped before step {}: {} became {}\n",
               target.bit, slice.held.begin + target.element, flip.tensor, flip.step, value, flipped);
    return;
  }
}

}  // namespace trainyard::executor
