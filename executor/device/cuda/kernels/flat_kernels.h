// Kernels over flat arrays, a piece of kPiece elements per block; and rotary positions, a block per token.
//
// Bound by memory; executor/kernel says the bytes an element. AdamW with a 16-bit working copy and 16-bit gradients
// moves 28 bytes an element: 2 + 12 read, 12 + 2 written.
#pragma once

#include <cstdint>

#include "executor/device/cuda/kernels/row_kernels.h"
#include "executor/device/device.h"
#include "executor/kernel/gelu.h"
#include "executor/kernel/optimizer.h"
#include "executor/kernel/rope.h"

namespace trainyard::executor {

// Four packs a thread, so that several loads are under way.
template <class T, int kElementsOfPack = 16 / static_cast<int>(sizeof(T))>
struct FlatKernel {
  static constexpr int kMaxThreads = 256;
  static constexpr int kBlocksPerProcessor = 4;
  static constexpr int kPack = kElementsOfPack;
  static constexpr std::int64_t kPiece = std::int64_t{4} * kMaxThreads * kPack;

  static LaunchShape flat(std::int64_t elements) { return {pieces(elements, kPiece), kMaxThreads, 0}; }

  // visit(i) for the elements of this block, i from 0 of the arrays.
  template <class Block, class Visit>
  static TRAINYARD_HOST_DEVICE void each(Block& block, std::int64_t elements, bool vectors, const Visit& visit) {
    const std::int64_t begin = block.index() * kPiece;
    const std::int64_t end = begin + kPiece < elements ? begin + kPiece : elements;
    if (vectors && end % kPack == 0) {
      for (std::int64_t i = begin + block.thread() * kPack; i < end; i += std::int64_t{kMaxThreads} * kPack) {
        visit(Pack<kPack>{i});
      }
    } else {
      for (std::int64_t i = begin + block.thread(); i < end; i += kMaxThreads) {
        visit(i);
      }
    }
  }
};

template <class T>
struct AddKernel : FlatKernel<T> {
  const T *a, *b;
  T* out;
  std::int64_t elements;
  bool vectors;

  LaunchShape shape() const { return this->flat(elements); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    this->each(block, elements, vectors, [&](auto i) { store(out + i, load(a + i) + load(b + i)); });
  }
};

// out [t, h] += positions [sequence, h].
template <class T>
struct PositionForward : RowKernel<T> {
  const T* positions;
  T* out;
  std::int64_t t, h, sequence;
  bool vectors;

  LaunchShape shape() const { return this->rows(t, h); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    T* row = out + block.index() * h;
    const T* position = positions + block.index() % sequence * h;
    this->group(block, vectors).each(h, [&](auto i) { store(row + i, load(row + i) + load(position + i)); });
  }
};

template <class T>
struct GeluForward : FlatKernel<T> {
  const T* in;
  T* activated;
  std::int64_t elements;
  bool vectors;

  LaunchShape shape() const { return this->flat(elements); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    this->each(block, elements, vectors, [&](auto i) { store(activated + i, gelu(load(in + i))); });
  }
};

template <class T>
struct GeluBackward : FlatKernel<T> {
  const T *in, *activated_grad;
  T* in_grad;
  std::int64_t elements;
  bool vectors;

  LaunchShape shape() const { return this->flat(elements); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    this->each(block, elements, vectors,
               [&](auto i) { store(in_grad + i, load(activated_grad + i) * gelu_slope(load(in + i))); });
  }
};

// One lane's threads of a block: what a head of rope needs of a group.
template <int V>
struct ThreadRange {
  std::int64_t first, step;
  bool vectors;

  template <class Visit>
  TRAINYARD_HOST_DEVICE void each(std::int64_t elements, const Visit& visit) const {
    if (vectors) {
      for (std::int64_t i = first * V; i < elements; i += step * V) {
        visit(Pack<V>{i});
      }
    } else {
      for (std::int64_t i = first; i < elements; i += step) {
        visit(i);
      }
    }
  }
};

// Heads of a token are dealt to groups of threads, each as large as a head's pairs.
template <class T>
struct RopeKernel {
  static constexpr int kMaxThreads = 256;
  static constexpr int kBlocksPerProcessor = 3;
  static constexpr int kPack = 16 / static_cast<int>(sizeof(T));

  RopeShape rope;
  T* qkv;
  float direction;
  bool vectors;

  LaunchShape shape() const { return {rope.tokens, kMaxThreads, 0}; }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t half = rope.head_size / 2;
    const std::int64_t wanted = vectors ? half / kPack : half;
    const std::int64_t size = wanted < kMaxThreads ? wanted : kMaxThreads;
    const std::int64_t groups = kMaxThreads / size;
    const std::int64_t group = block.thread() / size;
    const std::int64_t width = (rope.query_heads + 2 * rope.key_heads) * rope.head_size;
    const std::int64_t position = block.index() % rope.sequence;
    const ThreadRange<kPack> range{block.thread() % size, size, vectors};
    if (group >= groups) {
      return;
    }
    for (std::int64_t head = group; head < rope.query_heads + rope.key_heads; head += groups) {
      rope_head(range, qkv + block.index() * width + head * rope.head_size, rope.cosines + position * half,
                rope.sines + position * half, half, direction);
    }
  }
};

// G: the gradients' type, W: the working copy's. working may be null.
template <class G, class W>
struct AdamWKernel : FlatKernel<G, 4> {
  AdamWFactors factors;
  float* master;
  W* working;
  const G* gradients;
  float *momentum, *variance;
  const float* clip_scale;
  std::int64_t elements;
  bool vectors;

  LaunchShape shape() const { return this->flat(elements); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const float clip = *clip_scale;
    if (clip < 0.0f) {
      return;
    }
    this->each(block, elements, vectors, [&](auto i) {
      auto p = load(master + i), m = load(momentum + i), v = load(variance + i);
      const auto g = load(gradients + i) * clip;
      update(p, g, m, v);
      store(master + i, p);
      store(momentum + i, m);
      store(variance + i, v);
      if (working != nullptr) {
        store(working + i, p);
      }
    });
  }

 private:
  TRAINYARD_HOST_DEVICE void update(float& p, float g, float& m, float& v) const { adamw_element(factors, p, g, m, v); }
  TRAINYARD_HOST_DEVICE void update(Lanes<4>& p, const Lanes<4>& g, Lanes<4>& m, Lanes<4>& v) const {
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      adamw_element(factors, p.at[lane], g.at[lane], m.at[lane], v.at[lane]);
    }
  }
};

// velocity null: plain. working may be null.
template <class G, class W>
struct SgdKernel : FlatKernel<G, 4> {
  float learning_rate, momentum, weight_decay;
  float* master;
  W* working;
  const G* gradients;
  float* velocity;
  const float* clip_scale;
  std::int64_t elements;
  bool vectors;

  LaunchShape shape() const { return this->flat(elements); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const float clip = *clip_scale;
    if (clip < 0.0f) {
      return;
    }
    this->each(block, elements, vectors, [&](auto i) {
      auto p = load(master + i);
      auto direction = load(gradients + i) * clip;
      if (velocity != nullptr) {
        direction = load(velocity + i) * momentum + direction;
        store(velocity + i, direction);
      }
      update(p, direction);
      store(master + i, p);
      if (working != nullptr) {
        store(working + i, p);
      }
    });
  }

 private:
  TRAINYARD_HOST_DEVICE void update(float& p, float direction) const {
    sgd_element(learning_rate, weight_decay, p, direction);
  }
  TRAINYARD_HOST_DEVICE void update(Lanes<4>& p, const Lanes<4>& direction) const {
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      sgd_element(learning_rate, weight_decay, p.at[lane], direction.at[lane]);
    }
  }
};

}  // namespace trainyard::executor
