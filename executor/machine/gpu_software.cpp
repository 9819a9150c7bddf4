#include "executor/machine/gpu_software.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace trainyard::executor {

namespace {

constexpr std::string_view kNvidiaVendor = "0x10de";
constexpr std::string_view kDisplayClass = "0x03";  // VGA 0x0300, 3D controller 0x0302

std::string read_word(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

std::optional<int> count_pci_devices() {
  std::error_code none;
  std::filesystem::directory_iterator devices("/sys/bus/pci/devices", none);
  if (none) {
    return std::nullopt;
  }
  int count = 0;
  for (const auto& device : devices) {
    count += read_word(device.path() / "vendor") == kNvidiaVendor &&
                     read_word(device.path() / "class").starts_with(kDisplayClass)
                 ? 1
                 : 0;
  }
  return count;
}

bool loads(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) {
    dlclose(handle);
  }
  return handle != nullptr;
}

std::optional<std::string> find_toolkit() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string compiler = folder + "/nvcc";
    if (access(compiler.c_str(), X_OK) == 0) {
      return compiler;
    }
  }
  return std::nullopt;
}

}  // namespace

GpuSoftware find_gpu_software() {
  GpuSoftware software;
  software.pci_devices = count_pci_devices();
  const std::string version = read_word("/sys/module/nvidia/version");
  if (!version.empty()) {
    software.driver_version = version;
  }
  software.driver_library = loads("libcuda.so.1");
  software.toolkit = find_toolkit();
  software.nccl = loads("libnccl.so.2");
  return software;
}

std::vector<std::string> missing(const GpuSoftware& software) {
  std::vector<std::string> list;
  if (software.pci_devices.value_or(0) == 0 && !software.driver_version) {
    return list;
  }
  if (!software.driver_version) {
    list.emplace_back("the kernel driver: Debian's nvidia-driver (non-free), then a reboot");
  }
  if (!software.driver_library) {
    list.emplace_back("libcuda.so.1: Debian's libcuda1 (non-free), of the driver's version");
  }
  if (!software.toolkit) {
    list.emplace_back("the CUDA toolkit: Debian's nvidia-cuda-toolkit (non-free), or NVIDIA's");
  }
  if (!software.nccl) {
    list.emplace_back("libnccl.so.2: NVIDIA's libnccl2");
  }
  return list;
}

}  // namespace trainyard::executor
