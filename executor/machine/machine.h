// What this machine has: processor, memory, huge pages, shared memory, ports. Read from the kernel, nothing
// measured; what the kernel doesn't say is left unset.
//
// Inside a container the limits of its control group (v2, or v1) count, not the host's totals.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units/count.h"

namespace trainyard::executor {

struct Processor {
  std::string name;                     // "Intel(R) Xeon(R) ..."
  std::vector<std::string> extensions;  // of those that our kernels and BLAS use: "avx2", "fma", "avx512f", ...
  int online = 1;                       // hardware threads of the machine
  int usable = 1;                       // this process may run on: its CPU affinity
  std::optional<double> quota;          // CPUs' worth of time that the control group allows
  // Whole ranks or threads that run at once: the least of the above, at least 1.
  int cores() const;
};

struct MachineMemory {
  ByteCount total;
  ByteCount available;             // without swapping
  std::optional<ByteCount> limit;  // of the control group
  // What training may use: the limit where it is smaller.
  ByteCount usable() const;
};

struct Machine {
  std::string system;  // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
  std::string host;
  Processor processor;
  MachineMemory memory;
  std::optional<std::string> huge_pages;   // transparent huge pages: "always", "madvise", "never"
  std::optional<ByteCount> shared_memory;  // free in /dev/shm
};

Machine read_machine();

// Free bytes of the file system that holds `path` (or its nearest existing parent), for this user.
std::optional<ByteCount> free_disk(const std::filesystem::path& path);

// How many of `wanted` TCP ports on 127.0.0.1 could be bound at once.
int bindable_loopback_ports(int wanted);

}  // namespace trainyard::executor
