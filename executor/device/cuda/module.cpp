// What libtrainyard_cuda.so exports (executor/device/cuda_module.h).
#include <cuda_runtime.h>

#include <array>
#include <utility>

#include "core/error.h"
#include "executor/device/cuda/cuda_check.h"
#include "executor/device/cuda/cuda_streams.h"
#include "executor/device/cuda/launched_device.h"
#include "executor/device/cuda_module.h"

namespace trainyard::executor {

namespace {

Gpu describe(int ordinal) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "a GPU's properties");
  std::array<char, 32> bus{};
  check_cuda(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), ordinal), "a GPU's properties");
  Gpu gpu;
  gpu.name = properties.name;
  gpu.bus = bus.data();
  gpu.memory = ByteCount(static_cast<std::int64_t>(properties.totalGlobalMem));
  gpu.compute_capability = 10 * properties.major + properties.minor;
  gpu.processors = properties.multiProcessorCount;
  return gpu;
}

CudaStatus status() {
  CudaStatus status;
  status.architectures = TRAINYARD_CUDA_ARCHITECTURES;
  try {
    check_cuda(cudaRuntimeGetVersion(&status.runtime_version), "the CUDA runtime");
    check_cuda(cudaDriverGetVersion(&status.driver_version), "the GPU driver");
    int devices = 0;
    check_cuda(cudaGetDeviceCount(&devices), "the GPUs of this machine");
    for (int ordinal = 0; ordinal < devices; ++ordinal) {
      status.gpus.push_back(describe(ordinal));
    }
    if (devices == 0) {
      status.problem = "no GPU on this machine, or none that CUDA_VISIBLE_DEVICES leaves";
    }
  } catch (const Error& error) {
    status.problem = error.problem();
  }
  return status;
}

std::unique_ptr<Device> make_device(CudaDeviceOptions options) {
  return std::make_unique<LaunchedDevice<CudaStreams>>(std::move(options));
}

constexpr CudaModule kModule{kCudaModuleVersion, status, make_device};

}  // namespace

}  // namespace trainyard::executor

extern "C" const trainyard::executor::CudaModule* trainyard_cuda_module() { return &trainyard::executor::kModule; }
