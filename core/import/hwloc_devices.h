// CPUs and the PCI trees of GPUs and NICs in an hwloc XML, bridges collapsed. Not a public header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/import/xml_document.h"

namespace trainyard {

struct HwlocCpu {
  std::string index;  // gp_index
  std::string model;
  std::string vendor;
  std::int32_t family = 0;
  std::int32_t number = 0;
};

struct HwlocItem {
  enum class Role { kSwitch, kGpu, kNic };
  Role role = Role::kSwitch;
  std::string name;  // of a NIC
  std::string type;
  std::vector<std::string> indices;  // gp_index of the PCI device and of its OS devices
  double gigabytes = 0.0;            // per second, least of the links up to the item above; 0: not given
  std::size_t cpu = 0;               // of an outermost item
  std::vector<HwlocItem> below;
};

struct HwlocDevices {
  std::vector<HwlocCpu> cpus;
  std::vector<HwlocItem> items;
  std::string architecture;  // as NCCL writes it: "ppc64", "arm64", "x86_64"
};

HwlocDevices read_hwloc_devices(const XmlDocument& document);

}  // namespace trainyard
