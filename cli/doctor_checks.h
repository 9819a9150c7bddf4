// What `doctor` looks at: each check says what it found, whether that is fine, and if not what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "executor/machine/gpu_software.h"
#include "executor/machine/machine.h"

namespace trainyard::cli {

enum class Health : std::uint8_t {
  kOk,
  kNote,     // works, but slower or with less than it could
  kProblem,  // `run` or `calibrate` will fail
};
std::string_view to_string(Health health);  // "ok", "note", "problem"

struct Check {
  std::string name;  // "memory"
  Health health = Health::kOk;
  std::string found;   // "23.4 GiB, 22.9 GiB available"
  std::string advice;  // empty when ok
};

std::vector<Check> check_machine(const executor::Machine& machine);
std::vector<Check> check_gpu(const executor::GpuSoftware& software);
// Free space where runs are written: the current folder.
Check check_disk();
// Ports for ranks to meet on, 127.0.0.1.
Check check_ports();
// A matrix product on the CPU device, its result compared with plain loops.
Check check_matrix_product();
// Two ranks in this process sum a tensor over 127.0.0.1.
Check check_loopback_collective();

}  // namespace trainyard::cli
