#include "executor/machine/gpu_software.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/error.h"
#include "executor/communicator/nccl/nccl_library.h"
#include "executor/communicator/nccl/nccl_version.h"
#include "executor/supervisor/find_program.h"

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

std::optional<std::string> find_toolkit() { return find_program("nvcc", search_path() + ":/usr/local/cuda/bin"); }

void find_nccl(GpuSoftware& software) {
  software.nccl_header = nccl_header_version();
  try {
    const auto nccl = open_nccl();
    software.nccl_version = nccl->version();
    software.nccl_library = nccl->where();
    require_nccl_version(nccl->version(), nccl->where());
  } catch (const Error& error) {
    software.nccl_problem = error.problem();
  }
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
  find_nccl(software);
  software.cuda = cuda_status();
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
  if (!software.nccl_problem.empty()) {
    list.emplace_back("NCCL for more than one GPU (NVIDIA's libnccl2 and libnccl-dev): " + software.nccl_problem);
  }
  if (const std::string build = how_to_build_with_cuda(software); !build.empty()) {
    list.push_back("CUDA in this program: " + build);
  }
  return list;
}

std::string how_to_build_with_cuda(const GpuSoftware& software) {
  if (software.cuda.module_found) {
    return "";
  }
  return software.toolkit ? "build again with -DTRAINYARD_CUDA=ON"
                          : "install the CUDA toolkit, 12.4 or later, then build again with -DTRAINYARD_CUDA=ON";
}

}  // namespace trainyard::executor
