// What the buses inside a host carry, one way, by generation and width; and what counts where a file is silent.
//
//   PCIe    lanes x transfers/s x encoding / 8    encoding 8/10 up to generation 2, 128/130 up to 5, 242/256 at 6
//   NVLink  links x {20, 25, 25, 25, 50} GB/s     generation 1 (P100), 2 (V100), 3 (A100), 4 (H100), 5 (B200)
//   xGMI    links x {46, 46, 50, 64, 76.8} GB/s   gfx906 and gfx908, gfx90a, gfx94x, gfx950
//   socket to socket, GB/s: Broadwell 6, Skylake 10, Sapphire Rapids 22, Emerald Rapids 40, AMD 16, POWER9 32,
//   ARM 6: what NCCL 2.30 counts (src/graph/topo.h), as no file gives their wire rates
//
// These are rates on the wire (PCI-SIG base specifications; NVIDIA's and AMD's data sheets). NCCL plans with less
// (A100 20 of 25 GB/s a link, PCIe width x speed / 80): a link keeps generation and width, so that can be derived.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units/quantity.h"

namespace trainyard {

constexpr BytesPerSecond kUnreportedNicRate = 10_Gbps;  // what NCCL counts for a NIC that reports no speed
constexpr int kUnreportedPcieGeneration = 3;            // and for a PCIe link: generation 3, 16 lanes
constexpr int kUnreportedPcieWidth = 16;

BytesPerSecond pcie_rate(std::int32_t generation, std::int32_t lanes);
std::optional<std::int32_t> pcie_generation(double gigatransfers_per_second);
BytesPerSecond nvlink_rate(std::int32_t generation, std::int32_t links);
// By compute capability: 60, 70, 80, 86, 90, 100, 103. Absent for GPUs without NVLink and unknown ones.
std::optional<std::int32_t> nvlink_generation(std::int32_t compute_capability);
// By a product's name: "NVIDIA H100 80GB HBM3", "Tesla V100-SXM3-32GB". Absent: none of those with NVLink.
std::optional<std::int32_t> nvlink_generation_of(std::string_view model);
// By the target's number: "906", "910" (NCCL's way to write gfx90a), "gfx942". Absent: unknown.
std::optional<BytesPerSecond> xgmi_rate(std::string_view target, std::int32_t links);
BytesPerSecond socket_rate(std::string_view architecture, std::string_view vendor, std::int32_t family,
                           std::int32_t model);

// "H100-SXM5" by vendor and device number of a PCI device, for the accelerators and NICs that clusters have.
std::optional<std::string> device_name(std::string_view vendor, std::string_view device);

}  // namespace trainyard
