// DeviceChoice: on what a run's ranks compute, and over what they communicate: the CPU and Gloo, or GPUs and NCCL.
//
// Of the GPUs that the process sees, a rank takes the one with its number on the host. Asked for nothing, a run takes
// GPUs where every rank gets one of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/program/data_type.h"

namespace trainyard::executor {

enum class DeviceKind : std::uint8_t { kCpu, kCuda };
std::string_view to_string(DeviceKind kind);  // "cpu", "cuda"

// "auto": nothing. Throws Error that says what there is.
std::optional<DeviceKind> parse_device(const std::string& text);

struct DeviceChoice {
  DeviceKind kind = DeviceKind::kCpu;
  int ranks_per_gpu = 1;
};

// What of GPUs this process can use.
struct UsableGpus {
  int count = 0;
  std::string problem;         // why none; empty where there are some
  std::string nccl_problem;    // why several can't communicate; empty where they can
  int compute_capability = 0;  // the lowest among them; 90: 9.0
};
UsableGpus usable_gpus();  // never throws

// `wanted`: nothing, the best there is. More than one rank per GPU is for tests: they run one after the other and talk
// through sockets. Throws Error where the GPUs that are asked for can't be had.
DeviceChoice choose_device(std::optional<DeviceKind> wanted, std::int64_t ranks, int ranks_per_gpu,
                           const UsableGpus& gpus);

// Throws Error where the GPUs that were chosen have no products of this type.
void require_products(DataType compute, const DeviceChoice& choice, const UsableGpus& gpus);

// Of a rank, by its number on its host.
inline int gpu_of(const DeviceChoice& choice, int local_rank) { return local_rank / choice.ranks_per_gpu; }

}  // namespace trainyard::executor
