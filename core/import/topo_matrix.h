// The matrix of `nvidia-smi topo -m`, read and checked: square, symmetric, every cell known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class TopoRelation : std::uint8_t { kSelf, kNvlink, kSameSwitch, kSwitches, kSameCpu, kOtherCpu };

struct TopoCell {
  TopoRelation relation = TopoRelation::kSelf;
  std::int32_t links = 0;  // of kNvlink
  friend bool operator==(const TopoCell&, const TopoCell&) = default;
};

struct TopoDevice {
  std::string name;  // "gpu0", or a NIC's name by the legend
  bool is_gpu = true;
  std::string cpu_affinity;          // empty: not given
  std::optional<std::int32_t> numa;  // of the NUMA Affinity column, where it is one number
};

struct TopoMatrix {
  std::vector<TopoDevice> devices;
  std::vector<TopoCell> cells;  // row by row
  std::string gpu_model;        // of `nvidia-smi -L` lines in the same text; empty: not given
  const TopoCell& cell(std::size_t a, std::size_t b) const { return cells[a * devices.size() + b]; }
};

TopoMatrix read_topo_matrix(std::string_view text, const std::string& where);

}  // namespace trainyard
