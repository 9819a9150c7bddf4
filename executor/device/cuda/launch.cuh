// What the .cu files instantiate.
#pragma once

#include "executor/device/cuda/cuda_block.h"
#include "executor/device/cuda/cuda_check.h"
#include "executor/device/cuda/kernels/launch_shape.h"
#include "executor/device/cuda/launch.h"

namespace trainyard::executor {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kMaxThreads, Kernel::kBlocksPerProcessor)
    run_kernel(const __grid_constant__ Kernel kernel) {
  extern __shared__ __align__(16) unsigned char shared[];
  CudaBlock block(shared);
  kernel(block);
}

template <class Kernel>
void launch(cudaStream_t stream, const Kernel& kernel) {
  const LaunchShape shape = kernel.shape();
  if (shape.blocks == 0) {
    return;
  }
  constexpr int kUnasked = 48 << 10;  // more than this must be asked for, once a device; asking again costs nothing
  if (shape.shared_bytes > kUnasked) {
    check_cuda(
        cudaFuncSetAttribute(run_kernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes),
        "shared memory of a kernel");
  }
  run_kernel<<<static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.threads),
               static_cast<std::size_t>(shape.shared_bytes), stream>>>(kernel);
  check_cuda(cudaGetLastError(), "launch of a kernel");
}

}  // namespace trainyard::executor
