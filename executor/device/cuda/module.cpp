// What libtrainyard_cuda.so exports (executor/device/cuda_module.h).
#include <cuda_runtime.h>

#include <array>
#include <utility>

#include "core/error.h"
#include "executor/device/attention_choice.h"
#include "executor/device/cuda/cuda_check.h"
#include "executor/device/cuda/cuda_streams.h"
#include "executor/device/cuda/cudnn_module.h"
#include "executor/device/cuda/fused_device.h"
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

void find_cudnn(CudaStatus& status) {
  const OpenedCudnn cudnn = open_cudnn();
  status.cudnn_problem = cudnn.problem;
  if (cudnn.module != nullptr) {
    status.cudnn = cudnn.module->name();
  }
}

CudaStatus status() {
  CudaStatus status;
  status.architectures = TRAINYARD_CUDA_ARCHITECTURES;
  find_cudnn(status);
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

// Null: our own kernels. A cuDNN that is there and fails is an Error for kAuto too: it might not fail when the run is
// resumed, which would then go on with other bits.
std::unique_ptr<FusedAttention> make_fused(AttentionChoice choice, int ordinal) {
  if (choice == AttentionChoice::kOwn) {
    return nullptr;  // without opening it
  }
  const OpenedCudnn cudnn = open_cudnn();
  if (!wants_cudnn(choice, cudnn.problem)) {
    return nullptr;
  }
  return cudnn.module->make({.ordinal = ordinal, .tells_refusals = choice == AttentionChoice::kCudnn});
}

std::unique_ptr<Device> make_device(CudaDeviceOptions options) {
  const AttentionChoice choice = attention_choice(options.attention);
  const int ordinal = options.ordinal;
  auto device = std::make_unique<FusedDevice<CudaStreams>>(std::move(options));
  device->use(make_fused(choice, ordinal));
  return device;
}

constexpr CudaModule kModule{kCudaModuleVersion, status, make_device};

}  // namespace

}  // namespace trainyard::executor

extern "C" const trainyard::executor::CudaModule* trainyard_cuda_module() { return &trainyard::executor::kModule; }
