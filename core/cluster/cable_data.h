// Latencies of cables, buses and devices, and host memory of processors, from models/cables: each figure with its
// source, latencies with their range.
//
//   latency of a cable = length x per metre + modules at both ends + forward error correction
//
// The two files are part of the program, so that a cluster can be built anywhere; a person may read others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/link.h"

namespace trainyard {

constexpr int kCablesSchema = 1;
constexpr int kDevicesSchema = 1;

struct RangedSeconds {
  Seconds value;
  Seconds low;
  Seconds high;
  std::string source;
};

struct CableFigures {
  CableType type = CableType::kPassiveCopper;
  double longest_m = 0.0;  // longer ones aren't sold
  RangedSeconds per_metre;
  RangedSeconds modules;
  RangedSeconds error_correction;
};

struct BusFigures {
  RangedSeconds nvlink;
  RangedSeconds c2c;
  RangedSeconds pcie;
  RangedSeconds cpu_interconnect;
};

struct CableTable {
  std::vector<CableFigures> cables;  // each type once
  BusFigures buses;

  // Throws Error for a type that the file lacks.
  const CableFigures& find(CableType type) const;
  Seconds latency(const Cable& cable) const;
  RangedSeconds latency_range(const Cable& cable) const;  // the sums of the lows and of the highs
};

struct DeviceFigures {
  DeviceType type;  // its source holds those of all its figures
  std::optional<RangedSeconds> hop_latency;
};

// Host memory of a socket, all channels.
struct ProcessorMemory {
  std::string name;    // "Xeon, Sapphire Rapids"
  std::string vendor;  // as CPUID has it: "GenuineIntel"
  std::int32_t family = 0;
  std::vector<std::int64_t> models;
  BytesPerSecond rate;
  std::string source;
};

struct DeviceTable {
  std::vector<DeviceFigures> devices;
  std::vector<ProcessorMemory> processors;
  const DeviceType& find(std::string_view name) const;  // throws Error with the nearest name
  // By CPUID's numbers, family with its extension (AMD's Zen 2 is 23). Null: not in the table.
  const ProcessorMemory* processor(std::string_view vendor, std::int32_t family, std::int32_t model) const;
};

CableTable parse_cables(const std::string& text, const std::string& where);
DeviceTable parse_devices(const std::string& text, const std::string& where);

CableTable builtin_cables();    // models/cables/cables.json
DeviceTable builtin_devices();  // models/cables/devices.json

}  // namespace trainyard
