// OperationDriver: enqueues single operations of a program on a device, with operands in the cache state that
// they have in a step.
//
// Inputs and outputs rotate through regions larger than the caches of a core, so that weights, stored
// activations and gradients come from memory as far away as in a step. The one operand that the preceding
// kernel has just written is written anew before each operation.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/operation.h"
#include "executor/device/device.h"

namespace trainyard::executor {

// Row lengths that an elementwise operation's element count does not tell.
struct RowWidths {
  std::int64_t hidden = 256;
  std::int64_t feed_forward = 704;
  std::int64_t vocabulary = 256;
  std::int64_t head_size = 32;
};

// Of inputs, and again of outputs: what a step of a small model goes through, and beyond a core's own caches.
constexpr ByteCount kOperandRegion{std::int64_t{48} << 20};

class OperationDriver {
 public:
  // region: grown to what the largest operation needs.
  OperationDriver(Device& device, const std::vector<Operation>& operations, RowWidths widths = {},
                  ByteCount region = kOperandRegion);
  ~OperationDriver();
  OperationDriver(const OperationDriver&) = delete;
  OperationDriver& operator=(const OperationDriver&) = delete;

  // Enqueues the untimed write of the fresh operand, then the operation between begin_slice and end_slice.
  void enqueue(const Operation& operation, SliceClock* clock);

 private:
  struct Region {
    float* memory = nullptr;
    std::int64_t size = 0;
    std::int64_t next = 0;
  };
  float* take(Region& region, std::int64_t elements);
  float* input(std::int64_t elements) { return take(inputs_, elements); }
  float* output(std::int64_t elements) { return take(outputs_, elements); }
  float* freshen(float* operand, std::int64_t elements);

  template <class Enqueue>
  void timed(SliceClock* clock, const Enqueue& enqueue);
  void run(const Gemm& gemm, SliceClock* clock);
  void run(const Attention& attention, SliceClock* clock);
  void run(const Elementwise& pass, SliceClock* clock);
  void run_block(const Elementwise& pass, SliceClock* clock);
  void run_gpt2(const Elementwise& pass, SliceClock* clock);
  void run_update(const Elementwise& pass, SliceClock* clock);

  Device& device_;
  RowWidths widths_;
  Region inputs_;   // normal values, never written but by freshen()
  Region outputs_;  // whatever the operations leave
  std::vector<float> host_values_;
  std::int32_t* tokens_ = nullptr;  // below widths_.vocabulary
  float* statistics_ = nullptr;     // of a loss
  std::int64_t* sums_ = nullptr;
  float* one_ = nullptr;
  std::int64_t rows_ = 0;  // of tokens_ and statistics_
};

}  // namespace trainyard::executor
