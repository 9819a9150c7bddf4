// CudaBlock: the block that a kernel runs in, on a GPU (block_group.h says what a block can do).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "executor/kernel/bfloat16.h"
#include "executor/kernel/float16.h"

namespace trainyard::executor {

class CudaBlock {
 public:
  explicit __device__ CudaBlock(void* shared) : shared_(shared) {}

  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ std::int64_t index() const { return blockIdx.x; }
  __device__ void* shared() const { return shared_; }

  __device__ void sync() const { __syncthreads(); }
  __device__ void sync_warp() const { __syncwarp(); }
  template <class Value>
  __device__ Value shuffle_xor(Value value, int mask) const {
    return __shfl_xor_sync(kAllLanes, value, mask);
  }
  __device__ unsigned ballot(bool bit) const { return __ballot_sync(kAllLanes, bit); }
  __device__ void maximum(std::uint32_t* to, std::uint32_t value) const { atomicMax(to, value); }
  __device__ void add(std::int64_t* to, std::int64_t value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  }

  template <class T>
  __device__ void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) const {
    if constexpr (std::is_same_v<T, Bfloat16>) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};\n"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    } else {
      static_assert(std::is_same_v<T, Float16>);
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};\n"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
  }
  // row: eight 16-bit elements, whatever their type.
  __device__ void load_matrices(std::uint32_t (&r)[4], const void* row) const {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(in_shared(row))
                 : "memory");
  }
  __device__ void load_matrices_transposed(std::uint32_t (&r)[4], const void* row) const {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(in_shared(row))
                 : "memory");
  }

  __device__ void copy16(void* to, const void* from) const {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(in_shared(to)), "l"(__cvta_generic_to_global(from))
                 : "memory");
  }
  __device__ void commit_copies() const { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
  template <int UnderWay>
  __device__ void wait_copies() const {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(UnderWay) : "memory");
  }

 private:
  static constexpr unsigned kAllLanes = 0xffffffffU;
  static __device__ std::uint32_t in_shared(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
  }

  void* shared_;
};

}  // namespace trainyard::executor
