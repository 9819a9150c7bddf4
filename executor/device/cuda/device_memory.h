// DeviceMemory: a GPU's memory with an account of what was asked for.
//
// What lives from step to step is cudaMalloc's, which NCCL can register with peers and network cards; a pool's it could
// not. Scratch is from the device's stream-ordered pool, which keeps what is freed (release threshold: everything), so
// that a step never waits for the driver; cudaMalloc where a device has no pools. Not thread safe.
#pragma once

#include <cuda_runtime.h>

#include <map>

#include "core/units/count.h"

namespace trainyard::executor {

class DeviceMemory {
 public:
  explicit DeviceMemory(int ordinal);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Zeroed when this returns. 0 bytes: a valid pointer, to be freed.
  void* allocate(ByteCount bytes);
  void free(void* memory);
  ByteCount allocated() const { return allocated_; }  // sum of the sizes asked for

  // In the order of a stream, not in the account: for scratch.
  void* take(cudaStream_t stream, std::size_t bytes) const;
  void give_back(cudaStream_t stream, void* memory) const;

 private:
  bool pooled_ = false;
  cudaMemPool_t pool_ = nullptr;
  cudaStream_t stream_ = nullptr;  // zeroes what is allocated
  std::map<void*, ByteCount> blocks_;
  ByteCount allocated_;
};

}  // namespace trainyard::executor
