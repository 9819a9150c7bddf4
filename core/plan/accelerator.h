// Accelerator and fabric, from published numbers: what the simulator knows of a machine it cannot measure.
//
// Every number carries its source, so that an estimate can be opened down to a data sheet, a paper's table
// or a fit. Files are written by people: quantities are strings with units, each beside its "source":
//   { "schema": 1, "name": "h100-sxm", "hbm": { "bandwidth": { "value": "3.35 TB/s", "source": "..." } } ... }
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/program/data_type.h"
#include "core/units/count.h"
#include "core/units/quantity.h"

namespace trainyard {

constexpr int kAcceleratorSchema = 1;
constexpr int kClusterSchema = 1;

template <class T>
struct Sourced {
  T value{};
  std::string source;
};

// What of the peak real kernels reach; equations in simulator/compute.
struct KernelEfficiency {
  Sourced<double> gemm;            // e: of the dense peak, large products
  Sourced<double> gemm_k0;         // products of depth k take 1 + k0/k as long
  Sourced<Seconds> gemm_overhead;  // t0 per product
  Sourced<double> attention;       // of the dense peak, on causal FLOPs
  Sourced<double> memory;          // of the memory bandwidth
  Sourced<double> intra_node;      // of the intra-node bandwidth, in collectives
  Sourced<double> inter_node;      // of the NIC bandwidth
};

struct Accelerator {
  std::string name;
  std::vector<std::pair<DataType, Sourced<FlopsPerSecond>>> dense_peak;  // by type of the operands
  Sourced<ByteCount> memory;
  Sourced<BytesPerSecond> memory_bandwidth;
  Sourced<BytesPerSecond> intra_node_bandwidth;                // one device, one direction
  Sourced<Seconds> intra_node_latency;                         // per step of a collective
  Sourced<Seconds> collective_overhead;                        // per collective: launch, fill, skew between ranks
  std::optional<Sourced<BytesPerSecond>> host_link_bandwidth;  // PCIe or C2C, one direction
  std::optional<Sourced<double>> power_w;                      // limit of the device
  Sourced<ByteCount> runtime_memory;                           // context, libraries, communicator buffers
  KernelEfficiency efficiency;

  // Throws Error for a type the file gives no peak for.
  FlopsPerSecond peak(DataType type) const;
};

struct Fabric {
  std::string name;
  std::string accelerator;  // name of the accelerator's file
  Sourced<std::int64_t> ranks;
  Sourced<std::int64_t> ranks_per_node;
  Sourced<BytesPerSecond> nic_bandwidth;  // one rank's share of its node's NICs, one direction
  Sourced<Seconds> nic_latency;           // per step of a collective between nodes
};

Accelerator read_accelerator(const std::filesystem::path& file);
Accelerator parse_accelerator(const std::string& text, const std::string& where);
Fabric read_fabric(const std::filesystem::path& file);
Fabric parse_fabric(const std::string& text, const std::string& where);

}  // namespace trainyard
