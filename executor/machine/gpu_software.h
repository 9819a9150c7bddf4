// What of NVIDIA's software is on this machine, found without linking any of it: the kernel driver, its user
// library, the toolkit and NCCL.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainyard::executor {

struct GpuSoftware {
  std::optional<int> pci_devices;             // NVIDIA display controllers on the bus; unset: no bus to look at
  std::optional<std::string> driver_version;  // of the loaded kernel module
  bool driver_library = false;                // libcuda.so.1
  std::optional<std::string> toolkit;         // where nvcc is
  bool nccl = false;                          // libnccl.so.2
};

GpuSoftware find_gpu_software();

// What is missing before GPUs could be used, each with the package or the step that brings it; empty when
// nothing is, or when there is no GPU.
std::vector<std::string> missing(const GpuSoftware& software);

}  // namespace trainyard::executor
