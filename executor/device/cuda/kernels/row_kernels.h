// Kernels of a block per row: the bodies of executor/kernel over a BlockGroup.
//
// All are bound by memory: executor/kernel says the bytes of each, and the least time is those bytes over the HBM's
// bandwidth. Rows are read from HBM once; a second pass over the same row (norms, loss statistics) finds it in L2, or
// in L1 where it fits.
#pragma once

#include <cstdint>

#include "executor/device/cuda/kernels/block_group.h"
#include "executor/device/cuda/kernels/fixed_point.h"
#include "executor/device/cuda/kernels/launch_shape.h"
#include "executor/kernel/embedding.h"
#include "executor/kernel/layer_norm.h"
#include "executor/kernel/loss.h"
#include "executor/kernel/norm.h"
#include "executor/kernel/swiglu.h"

namespace trainyard::executor {

constexpr int kReductionBytes = kReductionFloats * static_cast<int>(sizeof(float));

// What the row kernels share: elements of a 16-byte pack, the block's size.
template <class T, int kThreads = 256>
struct RowKernel {
  static constexpr int kMaxThreads = kThreads;
  static constexpr int kBlocksPerProcessor = 1024 / kThreads;  // leaves each thread 64 registers
  static constexpr int kPack = 16 / static_cast<int>(sizeof(T));

  static LaunchShape rows(std::int64_t count, std::int64_t width, int shared_bytes = kReductionBytes) {
    return {count, row_threads<kPack>(width, kMaxThreads), shared_bytes};
  }
  template <class Block>
  static TRAINYARD_HOST_DEVICE BlockGroup<Block, kPack> group(Block& block, bool vectors) {
    return {block, static_cast<float*>(block.shared()), vectors};
  }
};

template <class P>
TRAINYARD_HOST_DEVICE inline P* row_or_null(P* base, std::int64_t offset) {
  return base == nullptr ? nullptr : base + offset;
}

template <class T>
struct NormForward : RowKernel<T> {
  const T *residual, *branch, *weight;
  T *sum, *normed;
  float* rstd;
  std::int64_t t, h;
  float epsilon;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, h); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t at = block.index() * h;
    const float scale = norm_forward_row(this->group(block, vectors), residual + at, row_or_null(branch, at), weight,
                                         row_or_null(sum, at), normed + at, h, epsilon);
    if (block.thread() == 0) {
      rstd[block.index()] = scale;
    }
  }
};

template <class T>
struct NormBackward : RowKernel<T> {
  static constexpr int kBlocksPerProcessor = 3;  // for sm_100 it wants more than 64 registers in fp32

  const T *normed_grad, *residual;
  const float* rstd;
  const T *weight, *incoming;
  T* residual_grad;
  std::int64_t t, h;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, h); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t at = block.index() * h;
    norm_backward_row(this->group(block, vectors), normed_grad + at, residual + at, rstd[block.index()], weight,
                      row_or_null(incoming, at), residual_grad + at, h);
  }
};

template <class T>
struct LayerNormForward : RowKernel<T> {
  const T *residual, *branch, *weight, *bias;
  T *sum, *normed;
  float* moments;
  std::int64_t t, h;
  float epsilon;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, h); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t at = block.index() * h;
    const RowMoments row = layer_norm_forward_row(this->group(block, vectors), residual + at, row_or_null(branch, at),
                                                  weight, bias, row_or_null(sum, at), normed + at, h, epsilon);
    if (block.thread() == 0) {
      moments[2 * block.index()] = row.mean;
      moments[2 * block.index() + 1] = row.rstd;
    }
  }
};

template <class T>
struct LayerNormBackward : RowKernel<T> {
  const T *normed_grad, *residual;
  const float* moments;
  const T *weight, *incoming;
  T* residual_grad;
  std::int64_t t, h;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, h); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t at = block.index() * h;
    const RowMoments row{moments[2 * block.index()], moments[2 * block.index() + 1]};
    layer_norm_backward_row(this->group(block, vectors), normed_grad + at, residual + at, row, weight,
                            row_or_null(incoming, at), residual_grad + at, h);
  }
};

template <class T>
struct SwigluForward : RowKernel<T> {
  const T* gate_up;
  T* activated;
  std::int64_t t, f;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, f); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    swiglu_forward_row(this->group(block, vectors), gate_up + block.index() * 2 * f, activated + block.index() * f, f);
  }
};

template <class T>
struct SwigluBackward : RowKernel<T> {
  const T *gate_up, *activated_grad;
  T* gate_up_grad;
  std::int64_t t, f;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, f); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t row = block.index();
    swiglu_backward_row(this->group(block, vectors), gate_up + row * 2 * f, activated_grad + row * f,
                        gate_up_grad + row * 2 * f, f);
  }
};

template <class T>
struct EmbedForward : RowKernel<T> {
  const std::int32_t* tokens;
  const T* table;
  T* out;
  std::int64_t t, h, first_row, table_rows;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, h); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t token = block.index();
    embed_forward_row(this->group(block, vectors), table, embedding_row(tokens[token], first_row, table_rows),
                      out + token * h, h);
  }
};

template <class T>
struct LossStatisticsKernel : RowKernel<T, 512> {
  const T* logits;
  const std::int32_t* targets;
  float* statistics;
  std::int64_t t, v, first_row;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, v); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t row = block.index();
    const LossStatistics result =
        loss_statistics_row(this->group(block, vectors), logits + row * v, targets[row] - first_row, v);
    if (block.thread() == 0) {
      float* to = statistics + row * kLossStatistics;
      to[0] = result.maximum;
      to[1] = result.sum;
      to[2] = result.target;
    }
  }
};

template <class T>
struct LossGradientKernel : RowKernel<T, 512> {
  T* logits;
  const std::int32_t* targets;
  const float* statistics;
  int parts;
  std::int64_t t, v, first_row;
  float scale;
  std::int64_t* loss_sum;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, v); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t row = block.index();
    auto* shared = static_cast<float*>(block.shared());
    if (block.thread() == 0) {
      const TokenLoss token = token_loss(statistics + row * kLossStatistics, parts, t * kLossStatistics);
      if (loss_sum != nullptr) {
        add_fixed_point(token.loss, [&](int word, std::int64_t value) { block.add(loss_sum + word, value); });
      }
      shared[0] = token.maximum;
      shared[1] = token.sum;
    }
    if (scale != 0.0f) {
      block.sync();
      loss_gradient_row(this->group(block, vectors), logits + row * v, targets[row] - first_row,
                        TokenLoss{shared[0], shared[1], 0.0}, scale, v);
    }
  }
};

}  // namespace trainyard::executor
