// The global gradient norm (core/program/norm_sum.h): sums of squares in core's fixed order, added in its fixed-point
// accumulator, so that a GPU and the CPU agree to the last bit.
//
// Four threads share a block of kNormBlock elements, each with four of its 16 lanes: 16 bytes a load in fp32. Bytes
// moved: the values once. Bound by memory (and on GPUs with 1/64-rate fp64 by its additions).
#pragma once

#include <cmath>
#include <cstdint>

#include "executor/device/cuda/kernels/block_group.h"
#include "executor/device/cuda/kernels/fixed_point.h"
#include "executor/device/cuda/kernels/launch_shape.h"
#include "executor/kernel/optimizer.h"

namespace trainyard::executor {

template <class T>
struct SumOfSquares {
  static constexpr int kMaxThreads = 256;
  static constexpr int kBlocksPerProcessor = 4;
  static constexpr int kThreadsOfBlock = 4;
  static constexpr int kOwnLanes = static_cast<int>(kNormLanes) / kThreadsOfBlock;
  static constexpr std::int64_t kBlocksAtOnce = kMaxThreads / kThreadsOfBlock;

  const T* values;
  std::int64_t elements;
  std::int64_t* sum;
  bool vectors;  // 4 elements at a time

  // Enough blocks to fill a GPU; each then adds its own words once.
  LaunchShape shape() const {
    return {launched(rounds()), kMaxThreads, kSumWords * static_cast<int>(sizeof(std::int64_t))};
  }

  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    auto* words = static_cast<std::int64_t*>(block.shared());
    if (block.thread() < kSumWords) {
      words[block.thread()] = 0;
    }
    block.sync();
    const std::int64_t blocks = (elements + kNormBlock - 1) / kNormBlock;
    for (std::int64_t round = block.index(); round < rounds(); round += launched(rounds())) {
      const std::int64_t index = round * kBlocksAtOnce + block.thread() / kThreadsOfBlock;
      const double total = squares(block, index * kNormBlock);
      if (index < blocks && block.thread() % kThreadsOfBlock == 0) {
        add_fixed_point(total, [&](int word, std::int64_t value) { block.add(words + word, value); });
      }
    }
    block.sync();
    if (block.thread() < kSumWords && words[block.thread()] != 0) {
      block.add(sum + block.thread(), words[block.thread()]);
    }
  }

 private:
  // Rounds of kBlocksAtOnce blocks that the elements take, dealt to the blocks launched.
  TRAINYARD_HOST_DEVICE std::int64_t rounds() const {
    return (elements + kNormBlock * kBlocksAtOnce - 1) / (kNormBlock * kBlocksAtOnce);
  }
  static TRAINYARD_HOST_DEVICE std::int64_t launched(std::int64_t rounds) { return rounds < 1024 ? rounds : 1024; }

  // Of the elements [begin, begin + kNormBlock): whole on the first of the four threads.
  template <class Block>
  TRAINYARD_HOST_DEVICE double squares(Block& block, std::int64_t begin) const {
    const int part = block.thread() % kThreadsOfBlock;
    const std::int64_t end = begin + kNormBlock < elements ? begin + kNormBlock : elements;
    double lanes[kOwnLanes] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll 4
    for (std::int64_t i = begin + part * kOwnLanes; i < end; i += static_cast<std::int64_t>(kNormLanes)) {
      if (vectors && i + kOwnLanes <= end) {
        const Lanes<kOwnLanes> x = load(values + Pack<kOwnLanes>{i});
#pragma unroll
        for (int lane = 0; lane < kOwnLanes; ++lane) {
          lanes[lane] += static_cast<double>(x.at[lane]) * static_cast<double>(x.at[lane]);
        }
      } else {
        for (int lane = 0; lane < kOwnLanes; ++lane) {
          const double x = i + lane < end ? static_cast<double>(load(values + i + lane)) : 0.0;
          lanes[lane] += x * x;
        }
      }
    }
    // Lane l + 8 to l lies two threads away, l + 4 to l one, the rest in the thread.
#pragma unroll
    for (int lane = 0; lane < kOwnLanes; ++lane) {
      lanes[lane] += block.shuffle_xor(lanes[lane], 2);
      lanes[lane] += block.shuffle_xor(lanes[lane], 1);
    }
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  }
};

// kernel/optimizer.h's update_factor. One thread.
struct ClipScaleKernel {
  static constexpr int kMaxThreads = 32;
  static constexpr int kBlocksPerProcessor = 1;

  const std::int64_t* sum;
  float limit;
  GradientScale gradients;
  float* scale;

  LaunchShape shape() const { return {1, kMaxThreads, 0}; }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    if (block.thread() == 0) {
      *scale = update_factor(std::sqrt(fixed_point_value(sum)), limit, gradients);
    }
  }
};

}  // namespace trainyard::executor
