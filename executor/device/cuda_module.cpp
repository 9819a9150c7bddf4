#include "executor/device/cuda_module.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace trainyard::executor {

namespace {

constexpr const char* kFile = "libtrainyard_cuda.so";

struct Loaded {
  const CudaModule* module = nullptr;
  std::string problem;
  bool found = false;
};

std::vector<std::filesystem::path> places() {
  std::vector<std::filesystem::path> paths;
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none) {
    paths.push_back(program.parent_path() / kFile);
    paths.push_back(program.parent_path().parent_path() / "lib" / kFile);
  }
#ifdef TRAINYARD_CUDA_MODULE
  paths.emplace_back(TRAINYARD_CUDA_MODULE);
#endif
  return paths;
}

// Loaded once by the system's loader however often this is called, and never unloaded: devices hold its code.
Loaded load() {
  for (const std::filesystem::path& path : places()) {
    std::error_code none;
    if (!std::filesystem::exists(path, none)) {
      continue;
    }
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = dlerror();
      return {nullptr, path.string() + " does not load: " + (why == nullptr ? "unknown" : why), true};
    }
    using Entry = const CudaModule* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(handle, kCudaModuleEntry));
    if (entry == nullptr || entry()->version != kCudaModuleVersion) {
      return {nullptr, path.string() + " is of another build of Trainyard", true};
    }
    return {entry(), {}, true};
  }
  return {nullptr, "this build of Trainyard has no CUDA (no libtrainyard_cuda.so beside the program)", false};
}

}  // namespace

CudaStatus cuda_status() {
  const Loaded loaded = load();
  if (loaded.module == nullptr) {
    CudaStatus status;
    status.module_found = loaded.found;
    status.problem = status.cudnn_problem = loaded.problem;
    return status;
  }
  CudaStatus status = loaded.module->status();
  status.module_found = true;
  return status;
}

std::unique_ptr<Device> make_cuda_device(CudaDeviceOptions options) {
  const Loaded loaded = load();
  if (loaded.module == nullptr) {
    throw Error(loaded.problem, "the CUDA device",
                loaded.found ? "see `trainyard doctor`"
                             : "build where nvcc is found, with -DTRAINYARD_CUDA=ON, or run on the CPU (--device cpu)");
  }
  return loaded.module->make_device(std::move(options));
}

}  // namespace trainyard::executor
