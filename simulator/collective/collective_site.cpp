#include "simulator/collective/collective_site.h"

#include <array>

namespace trainyard::simulator {

std::string_view to_string(GpuGeneration generation) {
  constexpr std::array<std::string_view, kGpuGenerations> kNames = {"volta", "ampere", "hopper", "blackwell",
                                                                    "mi300", "mi350",  "other"};
  return kNames.at(static_cast<std::size_t>(generation));
}

std::string_view to_string(NodeLinks links) {
  constexpr std::array<std::string_view, kNodeLinks> kNames = {"nvswitch", "cube_mesh", "xgmi", "pcie"};
  return kNames.at(static_cast<std::size_t>(links));
}

std::string_view to_string(FabricKind fabric) {
  constexpr std::array<std::string_view, kFabricKinds> kNames = {"infiniband", "roce", "efa_v1", "efa_v2", "efa_v3",
                                                                 "efa_v4",     "tcpx", "tcpxo",  "tcp"};
  return kNames.at(static_cast<std::size_t>(fabric));
}

std::string_view to_string(CpuVendor vendor) {
  constexpr std::array<std::string_view, 3> kNames = {"intel", "amd", "arm"};
  return kNames.at(static_cast<std::size_t>(vendor));
}

}  // namespace trainyard::simulator
