// The GPU, if there is one: CUDA's code lies in a shared module of its own, libtrainyard_cuda.so, which is loaded when
// a GPU is asked for.
//
// So one `trainyard` starts everywhere: it links neither the driver (libcuda) nor cuBLAS, whose libraries are larger
// than all else together, and a machine without them runs the CPU device. The module lies beside the program, or where
// the build left it. Its interface is compiled from this header on both sides; `version` is compared on loading.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/units/count.h"
#include "executor/device/attention_choice.h"
#include "executor/device/device.h"

namespace trainyard::executor {

struct CudaDeviceOptions {
  int ordinal = 0;                        // of the GPUs that the process sees
  std::function<void()> on_failure = {};  // called once, on any thread, after the first failure of enqueued work
  std::optional<AttentionChoice> attention = {};  // unset: the environment's (attention_choice.h)
};

struct Gpu {
  std::string name;
  std::string bus;  // "0000:3b:00.0"
  ByteCount memory;
  int compute_capability = 0;  // 90: 9.0
  int processors = 0;          // streaming multiprocessors
};

struct CudaStatus {
  bool module_found = false;
  std::string problem;        // why no GPU can be used; empty: some can
  int driver_version = 0;     // CUDA's that the driver takes, 13000: 13.0; 0: no driver
  int runtime_version = 0;    // that the module was built with
  std::string architectures;  // that it was compiled for, "90a-real"
  std::vector<Gpu> gpus;
  std::string cudnn;          // the library that was found, "cuDNN 9.19.0"; empty: none
  std::string cudnn_problem;  // why it can't be a GPU's attention; empty: it can
};

// Never throws.
CudaStatus cuda_status();

// The GPU as a Device; it is a GpuStreams (gpu_streams.h) as well. Throws Error where there is no module, no driver or
// no such GPU.
std::unique_ptr<Device> make_cuda_device(CudaDeviceOptions options);

// What the module exports, under kCudaModuleEntry.
constexpr int kCudaModuleVersion = 2;
constexpr const char* kCudaModuleEntry = "trainyard_cuda_module";
struct CudaModule {
  int version = kCudaModuleVersion;
  CudaStatus (*status)() = nullptr;
  std::unique_ptr<Device> (*make_device)(CudaDeviceOptions options) = nullptr;
};

}  // namespace trainyard::executor
