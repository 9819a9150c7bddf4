#include "executor/run/device_choice.h"

#include <algorithm>

#include "core/error.h"
#include "executor/communicator/nccl/nccl_library.h"
#include "executor/communicator/nccl/nccl_version.h"
#include "executor/device/cuda_module.h"
#include "executor/kernel/float8.h"

namespace trainyard::executor {

namespace {

std::string ranks_text(std::int64_t ranks) { return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"); }
std::string capability_text(int capability) {  // 90: 9.0
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}
std::string gpus_text(int gpus) { return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs"); }

bool enough(const UsableGpus& gpus, std::int64_t ranks, int ranks_per_gpu) {
  return ranks <= static_cast<std::int64_t>(gpus.count) * ranks_per_gpu;
}

void require_gpus(const UsableGpus& gpus, std::int64_t ranks, int ranks_per_gpu) {
  if (gpus.count == 0) {
    throw Error("needs a GPU: " + gpus.problem, "--device cuda", "see `trainyard doctor`, or run with --device cpu");
  }
  if (!enough(gpus, ranks, ranks_per_gpu)) {
    throw Error(ranks_text(ranks) + " don't fit " + gpus_text(gpus.count), "--device cuda",
                ranks_per_gpu == 1 ? "a rank needs a GPU of its own: choose a layout of " + ranks_text(gpus.count) +
                                         ", or, to test only, let them share with --ranks-per-gpu"
                                   : "raise --ranks-per-gpu");
  }
  if (ranks > 1 && !gpus.nccl_problem.empty()) {
    throw Error("several GPUs need NCCL: " + gpus.nccl_problem, "--device cuda", "see `trainyard doctor`");
  }
}

}  // namespace

std::string_view to_string(DeviceKind kind) { return kind == DeviceKind::kCuda ? "cuda" : "cpu"; }

std::optional<DeviceKind> parse_device(const std::string& text) {
  if (text == "auto") {
    return std::nullopt;
  }
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    if (text == to_string(kind)) {
      return kind;
    }
  }
  throw Error("there is no device '" + text + "'", "--device", "cpu, cuda or auto");
}

UsableGpus usable_gpus() {
  UsableGpus usable;
  const CudaStatus status = cuda_status();
  usable.problem = status.problem;
  usable.count = status.problem.empty() ? static_cast<int>(status.gpus.size()) : 0;
  for (const Gpu& gpu : status.gpus) {
    const bool first = usable.compute_capability == 0;
    usable.compute_capability =
        first ? gpu.compute_capability : std::min(usable.compute_capability, gpu.compute_capability);
  }
  if (usable.count == 0) {
    usable.problem = usable.problem.empty() ? "none is visible" : usable.problem;
    return usable;
  }
  try {
    const auto nccl = open_nccl();
    require_nccl_version(nccl->version(), nccl->where());
  } catch (const Error& error) {
    usable.nccl_problem = error.problem();
  }
  return usable;
}

DeviceChoice choose_device(std::optional<DeviceKind> wanted, std::int64_t ranks, int ranks_per_gpu,
                           const UsableGpus& gpus) {
  if (ranks_per_gpu < 1) {
    throw Error("must be at least 1", "--ranks-per-gpu", "1 is the default; more is for tests");
  }
  const bool fits = gpus.count > 0 && enough(gpus, ranks, ranks_per_gpu) && (ranks == 1 || gpus.nccl_problem.empty());
  const DeviceKind kind = wanted.value_or(fits ? DeviceKind::kCuda : DeviceKind::kCpu);
  if (kind == DeviceKind::kCuda) {
    require_gpus(gpus, ranks, ranks_per_gpu);
  }
  return {kind, ranks_per_gpu};
}

void require_products(DataType compute, const DeviceChoice& choice, const UsableGpus& gpus) {
  if (choice.kind == DeviceKind::kCuda && compute == DataType::kFp8 && gpus.compute_capability < kFirstWithFp8) {
    throw Error("the plan's products are in fp8, which GPUs have from compute capability " +
                    capability_text(kFirstWithFp8) + " on; this one has " + capability_text(gpus.compute_capability),
                "--device cuda", "plan with --precision bf16, or check the numbers of fp8 with --device cpu");
  }
}

}  // namespace trainyard::executor
