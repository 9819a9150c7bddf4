#include "executor/device/cuda/cuda_check.h"

#include <string>

#include "core/error.h"

namespace trainyard::executor {

namespace {

// What a person can do about it.
std::string hint(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "use more ranks, a smaller micro-batch, recomputation or ZeRO; with cuDNN's attention, "
             "TRAINYARD_ATTENTION=own "
             "takes up to 1 GiB less";
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
      return "`trainyard doctor` says what is missing; --device cpu runs without";
    case cudaErrorNoKernelImageForDevice:
      return "rebuild for this GPU: -DCMAKE_CUDA_ARCHITECTURES=...";
    case cudaErrorECCUncorrectable:
      return "the GPU's memory failed: take the node out and resume from the last checkpoint";
    default:
      return "CUDA_LAUNCH_BLOCKING=1 and compute-sanitizer find the call";
  }
}

}  // namespace

void check_cuda(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) {
    return;
  }
  cudaGetLastError();  // what can be forgotten is, so that the next call doesn't report it again
  const bool driver = status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice;
  const std::string problem = driver ? "no GPU driver on this machine, or none that this build works with"
                                     : std::string("CUDA failed: ") + cudaGetErrorString(status);
  throw Error(problem + " (" + cudaGetErrorName(status) + ")", doing, hint(status));
}

void check_cublas(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(std::string("cuBLASLt failed: ") + cublasLtGetStatusString(status), doing,
                "CUBLASLT_LOG_LEVEL=5 shows the call");
  }
}

}  // namespace trainyard::executor
