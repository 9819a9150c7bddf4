// cuDNN's attention as a module of its own, libtrainyard_cudnn.so, which the CUDA module opens.
//
// So the CUDA module needs neither cuDNN nor the headers of its front end, and a machine that lacks the library runs
// our own kernels. It lies beside libtrainyard_cuda.so; `version` is compared on loading. Once opened it stays.
#pragma once

#include <memory>
#include <string>

#include "executor/device/cuda/fused_attention.h"

namespace trainyard::executor {

struct CudnnOptions {
  int ordinal = 0;              // of the GPU
  bool tells_refusals = false;  // of shapes that cuDNN doesn't take: a line on the standard error stream each
};

// A GPU that need not be here, as cuDNN writes GPUs down (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
struct AbsentGpu {
  std::string properties;
  int compute_capability = 0;  // 90: 9.0
};

// What the module exports, under kCudnnModuleEntry.
constexpr int kCudnnModuleVersion = 1;
constexpr const char* kCudnnModuleEntry = "trainyard_cudnn_module";
struct CudnnModule {
  int version = kCudnnModuleVersion;
  std::string (*name)() = nullptr;     // "cuDNN 9.19.0": the library's
  std::string (*problem)() = nullptr;  // why the library won't do; empty: it will
  std::unique_ptr<FusedAttention> (*make)(const CudnnOptions& options) = nullptr;  // throws Error
  // Why cuDNN doesn't take the shape on that GPU; empty: it does. Nothing is compiled, so no GPU is needed, but a
  // libcuda.so.1, if only the toolkit's stub. Throws Error where cuDNN fails, as where it can't read the properties.
  std::string (*refusal)(const FusedShape& shape, const AbsentGpu& gpu) = nullptr;
};

struct OpenedCudnn {
  const CudnnModule* module = nullptr;
  std::string problem;  // why it can't be used; empty where it can
};
OpenedCudnn open_cudnn();

}  // namespace trainyard::executor
