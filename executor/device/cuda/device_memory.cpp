#include "executor/device/cuda/device_memory.h"

#include <cstdint>
#include <limits>

#include "core/error.h"
#include "executor/device/cuda/cuda_check.h"

namespace trainyard::executor {

DeviceMemory::DeviceMemory(int ordinal) {
  int pools = 0;
  check_cuda(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, ordinal), "start of the GPU's memory");
  pooled_ = pools != 0;
  if (pooled_) {
    // A pool of its own, so that its setting touches no other library's memory.
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = ordinal;
    check_cuda(cudaMemPoolCreate(&pool_, &properties), "start of the GPU's memory");
    std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
    check_cuda(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "start of the GPU's memory");
  }
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "start of the GPU's memory");
}

DeviceMemory::~DeviceMemory() {
  for (const auto& [memory, bytes] : blocks_) {
    cudaFree(memory);
  }
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
  if (pool_ != nullptr) {
    cudaMemPoolDestroy(pool_);
  }
}

void* DeviceMemory::take(cudaStream_t stream, std::size_t bytes) const {
  void* memory = nullptr;
  check_cuda(pooled_ ? cudaMallocFromPoolAsync(&memory, bytes, pool_, stream) : cudaMalloc(&memory, bytes),
             "allocation of GPU memory");
  return memory;
}

void DeviceMemory::give_back(cudaStream_t stream, void* memory) const {
  if (pooled_) {
    cudaFreeAsync(memory, stream);
  } else {
    cudaFree(memory);  // waits for the device
  }
}

void* DeviceMemory::allocate(ByteCount bytes) {
  check(bytes.value() >= 0, "a size is not negative");
  const std::size_t size = static_cast<std::size_t>(bytes.value()) + (bytes.value() == 0);
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, size), "allocation of GPU memory");
  check_cuda(cudaMemsetAsync(memory, 0, size, stream_), "zeroing of GPU memory");
  check_cuda(cudaStreamSynchronize(stream_), "zeroing of GPU memory");
  blocks_.emplace(memory, bytes);
  allocated_ += bytes;
  return memory;
}

void DeviceMemory::free(void* memory) {
  if (memory == nullptr) {
    return;
  }
  const auto block = blocks_.find(memory);
  check(block != blocks_.end(), "freed memory was allocated by this device");
  allocated_ -= block->second;
  blocks_.erase(block);
  cudaDeviceSynchronize();  // work on any stream may use it; its failure is synchronize()'s to tell
  cudaFree(memory);
}

}  // namespace trainyard::executor
