// What of NVIDIA's software is on this machine and in this program, found without linking any of it: the kernel driver,
// its user library, the toolkit, NCCL, and our own CUDA module.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/device/cuda_module.h"

namespace trainyard::executor {

struct GpuSoftware {
  std::optional<int> pci_devices;             // NVIDIA display controllers on the bus; unset: no bus to look at
  std::optional<std::string> driver_version;  // of the loaded kernel module
  bool driver_library = false;                // libcuda.so.1
  std::optional<std::string> toolkit;         // where nvcc is
  std::optional<int> nccl_header;             // the version that this program was compiled against
  std::optional<int> nccl_version;            // of the library that a run would open
  std::string nccl_library;                   // its file
  std::string nccl_problem;                   // why several GPUs can't communicate; empty where they can
  CudaStatus cuda;                            // what the program's CUDA module says
};

GpuSoftware find_gpu_software();

// What is missing before GPUs could be used, each with the package or the step that brings it; empty when
// nothing is, or when there is no GPU.
std::vector<std::string> missing(const GpuSoftware& software);

// What to do so that a program with CUDA comes out of the next build; empty where this one has it.
std::string how_to_build_with_cuda(const GpuSoftware& software);

}  // namespace trainyard::executor
