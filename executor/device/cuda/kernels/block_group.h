// BlockGroup: a block of GPU threads working through the elements of a row (executor/kernel/serial_group.h is the
// same for one CPU thread).
//
// Written against a Block: the calls below, which a GPU has as instructions (cuda_block.h) and which tests emulate on
// the CPU (tests/executor/device/emulated_block.h), so that what runs on a GPU is also run where there is none.
//
//   thread(), threads(), index()  of this thread, this block
//   sync(), sync_warp()           barriers
//   shuffle_xor(value, mask)      the value of the warp's lane `lane ^ mask`
//   ballot(bit)                   the bits of the warp's 32 lanes
//   add(address, integer)         atomic
//   maximum(address, integer)     atomic
//   shared()                      the block's shared memory, 16-byte aligned
//   multiply, load_matrices, copy16...   see warp_product.h
//
// Each thread takes packs of V neighbouring elements, the block's threads side by side; without `vectors` it takes
// single elements. Reductions: each thread in the order of its elements, then its lanes, then across the warp by
// halves, then the warps in order: the result depends on the row's length and the block's size alone.
#pragma once

#include <cstdint>
#include <limits>

#include "executor/device/cuda/kernels/lanes.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

constexpr int kWarp = 32;
constexpr int kReductionFloats = 32;  // of shared memory that a group needs: one a warp, at most 1024 threads

// Whether rows of n elements from each of these addresses can be taken in packs of V.
template <int V, class... Pointers>
bool takes_packs(std::int64_t n, const Pointers*... pointers) {
  const auto aligned = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; };
  return n % V == 0 && (aligned(pointers) && ...);
}

template <class Block, int V>
class BlockGroup {
 public:
  // scratch: kReductionFloats of shared memory. vectors: rows are multiples of V and 16-byte aligned.
  TRAINYARD_HOST_DEVICE BlockGroup(Block& block, float* scratch, bool vectors)
      : block_(block), scratch_(scratch), vectors_(vectors) {}

  template <class Visit>
  TRAINYARD_HOST_DEVICE void each(std::int64_t elements, Visit visit) const {
    if (vectors_) {
      for (std::int64_t i = std::int64_t{V} * block_.thread(); i < elements; i += std::int64_t{V} * block_.threads()) {
        visit(Pack<V>{i});
      }
    } else {
      for (std::int64_t i = block_.thread(); i < elements; i += block_.threads()) {
        visit(i);
      }
    }
  }

  // Of all elements, on every thread.
  template <class Term>
  TRAINYARD_HOST_DEVICE float sum(std::int64_t elements, Term term) const {
    return reduce(elements, term, 0.0f, [](float a, float b) { return a + b; });
  }
  template <class Term>
  TRAINYARD_HOST_DEVICE float maximum(std::int64_t elements, Term term) const {
    return reduce(elements, term, -std::numeric_limits<float>::infinity(),
                  [](float a, float b) { return a < b ? b : a; });
  }

  // Runs `function` once, after every thread has done what precedes.
  template <class Function>
  TRAINYARD_HOST_DEVICE void once(Function function) const {
    block_.sync();
    if (block_.thread() == 0) {
      function();
    }
  }

 private:
  template <class Term, class Combine>
  TRAINYARD_HOST_DEVICE float reduce(std::int64_t elements, Term term, float start, Combine combine) const {
    Lanes<V> lanes;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      lanes.at[i] = start;
    }
    if (vectors_) {
      for (std::int64_t i = std::int64_t{V} * block_.thread(); i < elements; i += std::int64_t{V} * block_.threads()) {
        lanes = by_lane(lanes, term(Pack<V>{i}), combine);
      }
    } else {
      for (std::int64_t i = block_.thread(); i < elements; i += block_.threads()) {
        lanes.at[0] = combine(lanes.at[0], term(i));
      }
    }
    float value = lanes.at[0];
#pragma unroll
    for (int i = 1; i < V; ++i) {
      value = combine(value, lanes.at[i]);
    }
    return across_block(value, combine);
  }

  template <class Combine>
  TRAINYARD_HOST_DEVICE float across_block(float value, Combine combine) const {
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      value = combine(value, block_.shuffle_xor(value, mask));
    }
    const int warps = block_.threads() / kWarp;
    if (warps == 1) {
      return value;
    }
    block_.sync();  // the scratch may still be read from the reduction before
    if (block_.thread() % kWarp == 0) {
      scratch_[block_.thread() / kWarp] = value;
    }
    block_.sync();
    float result = scratch_[0];
    for (int warp = 1; warp < warps; ++warp) {
      result = combine(result, scratch_[warp]);
    }
    return result;
  }

  Block& block_;
  float* scratch_;
  bool vectors_;
};

}  // namespace trainyard::executor
