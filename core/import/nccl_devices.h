// The devices of an NCCL topology XML as listed, before they become vertices. Not a public header.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/import/xml_document.h"

namespace trainyard {

struct NcclDevice {
  enum class Role { kSwitch, kGpu, kNic };
  Role role = Role::kSwitch;
  pugi::xml_node element;             // the pci element, or a nic element right below a cpu
  std::string bus;                    // lower case
  std::size_t cpu = 0;                // index into cpus
  std::optional<std::size_t> parent;  // the switch above, index into devices
};

struct NcclDevices {
  std::vector<pugi::xml_node> cpus;
  std::vector<NcclDevice> devices;  // parents before their children
  int ignored = 0;                  // of other PCI classes
};

NcclDevices read_nccl_devices(const XmlDocument& document);

}  // namespace trainyard
