#include "executor/device/cuda/cudnn_module.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace trainyard::executor {

namespace {

constexpr const char* kFile = "libtrainyard_cudnn.so";

// The folder of the file that this code was loaded from.
std::filesystem::path own_folder() {
  Dl_info info{};
  const auto* here = reinterpret_cast<const void*>(&open_cudnn);
  const bool found = dladdr(here, &info) != 0 && info.dli_fname != nullptr;
  return found ? std::filesystem::path(info.dli_fname).parent_path() : std::filesystem::path();
}

}  // namespace

OpenedCudnn open_cudnn() {
  const std::filesystem::path path = own_folder() / kFile;
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    return {nullptr,
            "this program was built without cuDNN, 9.18 or later, and its front end (PyPI: nvidia-cudnn-frontend)"};
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return {nullptr, std::string("cuDNN can't be opened: ") + (why == nullptr ? "unknown" : why)};
  }
  using Entry = const CudnnModule* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, kCudnnModuleEntry));
  if (entry == nullptr || entry()->version != kCudnnModuleVersion) {
    return {nullptr, path.string() + " is of another build of Trainyard"};
  }
  return {entry(), entry()->problem()};
}

}  // namespace trainyard::executor
