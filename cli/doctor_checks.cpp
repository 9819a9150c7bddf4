#include "cli/doctor_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "core/units/format_quantity.h"
#include "core/units/quantity.h"
#include "executor/communicator/nccl/nccl_version.h"
#include "executor/device/cpu_device.h"
#include "executor/machine/self_test.h"

namespace trainyard::cli {

namespace {

constexpr ByteCount kLittleMemory(std::int64_t{2} << 30);
constexpr ByteCount kLittleDisk(std::int64_t{1} << 30);
constexpr int kPorts = 64;  // one listening port a rank and one for the store, with room

Check processor(const executor::Processor& processor) { return {"processor", Health::kOk, processor.name, ""}; }

Check instruction_set(const executor::Processor& processor) {
  Check check{"instructions", Health::kOk, fmt::format("{}", fmt::join(processor.extensions, " ")), ""};
  const auto has = [&](const char* name) {
    return std::find(processor.extensions.begin(), processor.extensions.end(), name) != processor.extensions.end();
  };
  if (!has("avx2") && !has("asimd")) {
    check.health = Health::kNote;
    check.found = check.found.empty() ? "none of those we use" : check.found;
    check.advice = "no AVX2: matrix products will run several times slower";
  }
  return check;
}

Check cores(const executor::Processor& processor) {
  Check check{"cores", Health::kOk, fmt::format("{} usable", processor.cores()), ""};
  if (processor.cores() < processor.online) {
    check.found += fmt::format(" of {}", processor.online);
    check.found +=
        processor.quota ? fmt::format(" (control group allows {:.3g})", *processor.quota) : " (CPU affinity)";
  }
  if (processor.cores() < 2) {
    check.health = Health::kNote;
    check.advice = "ranks share one core: more than one rank won't be faster than one";
  }
  return check;
}

Check memory(const executor::MachineMemory& memory) {
  Check check{"memory", Health::kOk,
              fmt::format("{}, {} available", format_quantity(memory.usable()), format_quantity(memory.available)), ""};
  if (memory.limit) {
    check.found += fmt::format(" (limit of the control group; the host has {})", format_quantity(memory.total));
  }
  if (memory.available < kLittleMemory) {
    check.health = Health::kNote;
    check.advice = "less than 2 GiB available: close something, or train a small model";
  }
  return check;
}

Check huge_pages(const executor::Machine& machine) {
  Check check{"huge pages", Health::kOk, machine.huge_pages.value_or("unknown"), ""};
  if (machine.huge_pages.value_or("never") == "never") {
    check.health = Health::kNote;
    check.advice =
        "transparent huge pages are off, training is slower: "
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (root)";
  }
  return check;
}

Check from_self_test(const char* name, const executor::SelfTest& test, const char* advice) {
  return {name, test.passed ? Health::kOk : Health::kProblem, test.detail, test.passed ? "" : advice};
}

// 13000: "13.0", as CUDA numbers its versions.
std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version / 10 % 100); }

// A CPU-only program on a machine without GPUs is as it should be.
Check cuda_build(const executor::GpuSoftware& software) {
  Check check{"cuda", Health::kOk, "", ""};
  const executor::CudaStatus& cuda = software.cuda;
  if (!cuda.module_found) {
    check.found = "this program was built without CUDA";
    check.advice = "for GPUs: " + how_to_build_with_cuda(software);
  } else {
    check.found = fmt::format("this program has CUDA {} for {}", cuda_version(cuda.runtime_version),
                              cuda.architectures.empty() ? "unknown GPUs" : cuda.architectures);
    if (cuda.driver_version > 0) {
      check.found += fmt::format("; the driver takes up to {}", cuda_version(cuda.driver_version));
    }
  }
  if (software.toolkit) {
    check.found += "; toolkit " + *software.toolkit;
  }
  if (cuda.module_found && !cuda.problem.empty() && software.pci_devices.value_or(0) > 0) {
    check.health = Health::kNote;
    check.advice = "no GPU can be used: " + cuda.problem;
  }
  return check;
}

Check nccl(const executor::GpuSoftware& software) {
  Check check{"nccl", Health::kOk, "", ""};
  if (software.nccl_version) {
    check.found = fmt::format("{} ({})", executor::nccl_version_text(*software.nccl_version), software.nccl_library);
  } else {
    check.found = software.nccl_header ? "no library found" : "this program was built without NCCL";
  }
  if (!software.nccl_problem.empty()) {
    check.health = software.cuda.gpus.size() > 1 ? Health::kNote : Health::kOk;
    check.advice = "for more than one GPU: " + software.nccl_problem;
  }
  return check;
}

// Only of a program with CUDA.
Check attention(const executor::CudaStatus& cuda) {
  Check check{"attention", Health::kOk, "", ""};
  check.found = cuda.cudnn_problem.empty() ? cuda.cudnn + " on GPUs, and our own kernels for what it doesn't take"
                                           : "our own kernels on GPUs";
  if (!cuda.cudnn_problem.empty()) {
    check.advice = "for cuDNN's: " + cuda.cudnn_problem;
  }
  return check;
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kNote:
      return "note";
    case Health::kProblem:
      return "problem";
  }
  return "?";
}

std::vector<Check> check_machine(const executor::Machine& machine) {
  return {{"system", Health::kOk, machine.system, ""},
          processor(machine.processor),
          instruction_set(machine.processor),
          cores(machine.processor),
          memory(machine.memory),
          huge_pages(machine)};
}

std::vector<Check> check_gpu(const executor::GpuSoftware& software) {
  Check gpu{"gpu", Health::kOk, "", ""};
  if (!software.cuda.gpus.empty()) {
    for (const executor::Gpu& one : software.cuda.gpus) {
      gpu.found += fmt::format("{}{}, {}", gpu.found.empty() ? "" : "; ", one.name, format_quantity(one.memory));
    }
  } else if (software.pci_devices.value_or(0) > 0) {
    gpu.found = fmt::format("{} NVIDIA", *software.pci_devices);
  } else {
    gpu.found = software.driver_version ? "NVIDIA driver" : "none found";
  }
  if (software.driver_version) {
    gpu.found += ", driver " + *software.driver_version;
  }
  const std::vector<std::string> list = missing(software);
  if (!list.empty()) {
    gpu.health = Health::kNote;
    gpu.advice = fmt::format("missing: {}", fmt::join(list, "; "));
  }
  std::vector<Check> checks{gpu, cuda_build(software), nccl(software)};
  if (software.cuda.module_found) {
    checks.push_back(attention(software.cuda));
  }
  return checks;
}

Check check_disk() {
  Check check{"disk", Health::kOk, "", ""};
  std::error_code ignored;
  const auto here = std::filesystem::current_path(ignored);
  const auto free = executor::free_disk(here);
  check.found = free ? format_quantity(*free) + " free in " + here.string() : "can't tell";
  if (free && *free < kLittleDisk) {
    check.health = Health::kNote;
    check.advice = "runs write traces and weights: give --output a place with more room";
  }
  return check;
}

Check check_ports() {
  const int bound = executor::bindable_loopback_ports(kPorts);
  Check check{"ports", Health::kOk, fmt::format("{} of {} tried on 127.0.0.1 are free", bound, kPorts), ""};
  if (bound < kPorts) {
    check.health = bound < 4 ? Health::kProblem : Health::kNote;
    check.advice = "ranks on this machine meet over 127.0.0.1: is the loopback device up, or ulimit -n too low?";
  }
  return check;
}

Check check_matrix_product() {
  const auto device = executor::make_cpu_device({});
  return from_self_test("matrix product", executor::test_matrix_product(*device), "is Debian's libdnnl2 whole?");
}

Check check_loopback_collective() {
  return from_self_test("collective", executor::test_loopback_collective(),
                        "ranks can't talk over 127.0.0.1: is the loopback device up, does a firewall stand between?");
}

}  // namespace trainyard::cli
