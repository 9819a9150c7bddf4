#include <array>

#include "core/cluster/cluster.h"

namespace trainyard {

namespace {

template <class E, std::size_t N>
std::string_view name_of(E value, const std::array<std::string_view, N>& names) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

std::string_view to_string(VertexKind kind) {
  constexpr std::array<std::string_view, kVertexKinds> kNames = {"gpu",  "nvswitch", "pcie_switch", "cpu",    "nic",
                                                                 "leaf", "spine",    "core",        "storage"};
  return name_of(kind, kNames);
}

std::string_view to_string(LinkKind kind) {
  constexpr std::array<std::string_view, kLinkKinds> kNames = {"nvlink",           "xgmi", "c2c", "pcie",
                                                               "cpu_interconnect", "cable"};
  return name_of(kind, kNames);
}

std::string_view to_string(Network network) {
  constexpr std::array<std::string_view, kNetworks> kNames = {"internal", "backend", "frontend"};
  return name_of(network, kNames);
}

std::string_view to_string(CableType type) {
  constexpr std::array<std::string_view, kCableTypes> kNames = {"passive_copper", "active_copper", "active_optical",
                                                                "multimode", "single_mode"};
  return name_of(type, kNames);
}

std::string_view to_string(CongestionControl control) {
  constexpr std::array<std::string_view, kCongestionControls> kNames = {"credit", "pfc", "lossy"};
  return name_of(control, kNames);
}

}  // namespace trainyard
