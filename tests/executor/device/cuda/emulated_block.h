// A GPU's block of threads on the CPU: what a kernel of executor/device/cuda/kernels does there can be run and checked
// where there is no GPU.
//
// Each thread is a fiber; barriers and shuffles switch between them. Tensor-core instructions follow the layouts of
// the PTX ISA (mma.m16n8k16, ldmatrix). Stricter than a GPU in what it lets pass: shared memory begins as NaNs, an
// asynchronous copy happens only when it is waited for, a barrier that not all threads reach ends the test. Threads can
// be run in ascending or descending order: results must not differ.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "executor/device/cuda/kernels/launch_shape.h"
#include "executor/kernel/bfloat16.h"
#include "executor/kernel/float16.h"

namespace trainyard::executor {

class Emulator;

class EmulatedBlock {
 public:
  EmulatedBlock(Emulator& emulator, int thread) : emulator_(emulator), thread_(thread) {}

  int thread() const { return thread_; }
  int threads() const;
  std::int64_t index() const;
  void* shared() const;

  void sync();
  void sync_warp();
  unsigned ballot(bool bit);
  void maximum(std::uint32_t* to, std::uint32_t value) { *to = *to < value ? value : *to; }
  void add(std::int64_t* to, std::int64_t value) { *to += value; }
  template <class Value>
  Value shuffle_xor(Value value, int mask) {
    Value result;
    exchange(&value, sizeof(value), thread_ % 32 ^ mask, &result);
    return result;
  }

  template <class T>
  void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
    multiply_pairs(c, a, b0, b1, [](std::uint16_t bits) {
      const T element{bits};
      return load(&element);
    });
  }
  void load_matrices(std::uint32_t (&r)[4], const void* row) { load_matrices(r, row, false); }
  void load_matrices_transposed(std::uint32_t (&r)[4], const void* row) { load_matrices(r, row, true); }

  void copy16(void* to, const void* from) { open_copies_.push_back({to, from}); }
  void commit_copies();
  template <int UnderWay>
  void wait_copies() {
    finish_copies(UnderWay);
  }
  bool copies_under_way() const;

 private:
  struct Copy {
    void* to;
    const void* from;
  };
  // Gives `bytes` to the warp and takes those of `lane`.
  void exchange(const void* give, std::size_t bytes, int lane, void* take);
  void multiply_pairs(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                      float (*element)(std::uint16_t bits));
  void load_matrices(std::uint32_t (&r)[4], const void* row, bool transposed);
  void finish_copies(std::size_t under_way);
  // Where a lane of this warp puts what it gives in the present exchange. Two banks in turn: who writes the next but
  // one has passed the barrier of the next, and so everyone has read this.
  std::byte* slot(int lane);

  Emulator& emulator_;
  int thread_;
  std::int64_t exchanges_ = 0;
  std::vector<Copy> open_copies_;
  std::vector<std::vector<Copy>> groups_;
};

enum class ThreadOrder : std::uint8_t { kAscending, kDescending };

class Emulator {
 public:
  explicit Emulator(ThreadOrder order = ThreadOrder::kAscending) : order_(order) {}
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

  template <class Kernel>
  void run(const Kernel& kernel) {
    run(kernel.shape(), [&kernel](EmulatedBlock& block) { kernel(block); });
  }

 private:
  friend class EmulatedBlock;
  static constexpr std::size_t kExchangeBytes = 64;

  struct Fiber {
    ucontext_t context{};
    std::vector<std::byte> stack;
    std::unique_ptr<EmulatedBlock> block;
    const std::int64_t* awaited = nullptr;  // runs when the barrier's generation is no longer `seen`
    std::int64_t seen = 0;
    bool done = false;
  };
  struct Barrier {
    int arrived = 0;
    std::int64_t generation = 0;
  };

  void run(const LaunchShape& shape, const std::function<void(EmulatedBlock&)>& work);
  void run_block();
  void start(Fiber& fiber);
  static void enter(unsigned high, unsigned low);
  void arrive(Barrier& barrier, int expected);  // by the running fiber

  ThreadOrder order_;
  LaunchShape shape_;
  std::int64_t index_ = 0;
  const std::function<void(EmulatedBlock&)>* work_ = nullptr;
  std::vector<std::byte> shared_;
  std::vector<Fiber> fibers_;
  Fiber* running_ = nullptr;
  ucontext_t scheduler_{};
  Barrier block_barrier_;
  std::vector<Barrier> warp_barriers_;
  std::vector<std::byte> exchange_;
};

}  // namespace trainyard::executor
