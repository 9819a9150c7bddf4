// The machine that a published row's words describe: an accelerator, nodes and their links.
//
// NIC rates differ in meaning ("4x100 Gb/s per node", "400 Gb/s per GPU", "1600 Gb/s node-to-node"): always one
// direction, per GPU. What isn't said is the usual server of the GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/plan/accelerator.h"
#include "simulator/collective/collective_site.h"

namespace trainyard::simulator {

struct DescribedMachine {
  Accelerator accelerator;
  Fabric fabric;
  CollectiveSite node;
  std::string generation;  // "ampere", ...
};

struct HardwareWords {
  std::string gpu;
  std::string intra_link;
  std::string inter_link;
  std::int64_t gpus = 0;
  std::int64_t gpus_per_node = 8;
  std::optional<double> memory_gb;
};

// Nothing for a GPU that isn't known.
std::optional<DescribedMachine> described_machine(const HardwareWords& words);

// Bytes a second of one GPU, one direction, from such words; nothing where no rate is said.
std::optional<BytesPerSecond> nic_rate(const std::string& words, std::int64_t gpus_per_node);

}  // namespace trainyard::simulator
