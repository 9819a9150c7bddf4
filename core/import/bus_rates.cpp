#include "core/import/bus_rates.h"

#include <algorithm>
#include <array>

#include "core/document/text_match.h"
#include "core/error.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

struct PcieGeneration {
  double gigatransfers;
  double encoding;
};

constexpr std::array<PcieGeneration, 6> pcie_generations() {
  return {{{2.5, 0.8},
           {5.0, 0.8},
           {8.0, 128.0 / 130.0},
           {16.0, 128.0 / 130.0},
           {32.0, 128.0 / 130.0},
           {64.0, 242.0 / 256.0}}};
}

BytesPerSecond gigabytes(double value) { return from_si<BytesPerSecond>(value * 1e9); }

}  // namespace

BytesPerSecond pcie_rate(std::int32_t generation, std::int32_t lanes) {
  check(generation >= 1 && generation <= 6, "a PCIe generation is 1 to 6");
  const PcieGeneration of = pcie_generations()[static_cast<std::size_t>(generation) - 1];
  return gigabytes(of.gigatransfers * of.encoding / 8.0 * lanes);
}

std::optional<std::int32_t> pcie_generation(double gigatransfers_per_second) {
  const auto generations = pcie_generations();
  for (std::size_t i = 0; i < generations.size(); ++i) {
    if (gigatransfers_per_second == generations[i].gigatransfers) {
      return static_cast<std::int32_t>(i) + 1;
    }
  }
  return std::nullopt;
}

BytesPerSecond nvlink_rate(std::int32_t generation, std::int32_t links) {
  check(generation >= 1 && generation <= 5, "an NVLink generation is 1 to 5");
  constexpr std::array<double, 5> kOneLink = {20.0, 25.0, 25.0, 25.0, 50.0};
  return gigabytes(kOneLink[static_cast<std::size_t>(generation) - 1] * links);
}

std::optional<std::int32_t> nvlink_generation(std::int32_t compute_capability) {
  switch (compute_capability) {
    case 60:
      return 1;
    case 70:
    case 72:
      return 2;
    case 80:
    case 86:
      return 3;
    case 90:
      return 4;
    case 100:
    case 103:
      return 5;
    default:
      return std::nullopt;
  }
}

std::optional<std::int32_t> nvlink_generation_of(std::string_view model) {
  struct Known {
    std::string_view part;
    std::int32_t generation;
  };
  constexpr std::array<Known, 12> kKnown = {{{"P100", 1},
                                             {"V100", 2},
                                             {"A100", 3},
                                             {"A800", 3},
                                             {"A6000", 3},
                                             {"H100", 4},
                                             {"H200", 4},
                                             {"H800", 4},
                                             {"H20", 4},
                                             {"B100", 5},
                                             {"B200", 5},
                                             {"B300", 5}}};
  for (const Known& known : kKnown) {
    if (model.find(known.part) != std::string_view::npos) {
      return known.generation;
    }
  }
  return std::nullopt;
}

std::optional<BytesPerSecond> xgmi_rate(std::string_view target, std::int32_t links) {
  if (target.starts_with("gfx")) {
    target.remove_prefix(3);
  }
  if (target == "906" || target == "908") {
    return gigabytes(46.0 * links);
  }
  if (target == "910" || target == "90a") {
    return gigabytes(50.0 * links);
  }
  if (target.starts_with("94")) {
    return gigabytes(64.0 * links);
  }
  if (target.starts_with("95")) {
    return gigabytes(76.8 * links);
  }
  return std::nullopt;
}

BytesPerSecond socket_rate(std::string_view architecture, std::string_view vendor, std::int32_t family,
                           std::int32_t model) {
  if (architecture == "ppc64") {
    return gigabytes(32.0);
  }
  if (architecture == "arm64") {
    return gigabytes(6.0);
  }
  if (vendor == "AuthenticAMD") {
    return gigabytes(16.0);
  }
  if (vendor == "GenuineIntel" && family == 6) {
    return gigabytes(model >= 0xCF ? 40.0 : model >= 0x8F ? 22.0 : model >= 0x55 ? 10.0 : 6.0);
  }
  return gigabytes(10.0);
}

// Numbers: the PCI ID repository (pci-ids.ucw.cz).
std::optional<std::string> device_name(std::string_view vendor, std::string_view device) {
  struct Known {
    std::string_view vendor;
    std::string_view device;
    std::string_view name;
  };
  constexpr std::array<Known, 28> kKnown = {{
      {"10de", "15f9", "P100-SXM2"},      {"10de", "1db1", "V100-SXM2-16GB"},
      {"10de", "1db5", "V100-SXM2-32GB"}, {"10de", "1db8", "V100-SXM3-32GB"},
      {"10de", "20b0", "A100-SXM4-40GB"}, {"10de", "20b2", "A100-SXM4-80GB"},
      {"10de", "20b5", "A100-PCIe-80GB"}, {"10de", "20f1", "A100-PCIe-40GB"},
      {"10de", "2237", "A10G"},           {"10de", "2324", "H800-SXM5"},
      {"10de", "2330", "H100-SXM5"},      {"10de", "2331", "H100-PCIe"},
      {"10de", "2335", "H200-SXM5"},      {"10de", "2342", "GH200"},
      {"10de", "2901", "B200-SXM"},       {"10de", "2941", "GB200"},
      {"10de", "3182", "B300-SXM"},       {"1002", "66a1", "MI50"},
      {"1002", "738c", "MI100"},          {"1002", "7408", "MI250X"},
      {"1002", "740c", "MI250X"},         {"1002", "74a1", "MI300X"},
      {"15b3", "1017", "ConnectX-5"},     {"15b3", "101b", "ConnectX-6"},
      {"15b3", "101c", "ConnectX-6 VF"},  {"15b3", "1021", "ConnectX-7"},
      {"15b3", "1023", "ConnectX-8"},     {"1d0f", "efa0", "EFA"},
  }};
  const auto bare = [](std::string_view text) {
    std::string number = lower_case(trimmed(text));
    return number.starts_with("0x") ? number.substr(2) : number;
  };
  const std::string wanted_vendor = bare(vendor);
  const std::string wanted_device = bare(device);
  const auto found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) {
    return known.vendor == wanted_vendor && known.device == wanted_device;
  });
  return found == kKnown.end() ? std::nullopt : std::optional<std::string>(found->name);
}

}  // namespace trainyard
