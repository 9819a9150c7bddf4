#include "simulator/throughput/throughput_hardware.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

#include "core/document/text_match.h"

namespace trainyard::simulator {

namespace {

// Dense peaks in TFLOP/s, memory in TB/s, links of a GPU one way and the usual NIC in GB/s.
struct Silicon {
  std::string_view word;  // in lower case, first match counts
  std::string_view generation;
  GpuGeneration links;
  double bf16;
  double fp8;
  double fp4;
  double memory;
  double memory_gb;
  double nvlink;
  double nic;
  double watts;
  bool domain;
};

constexpr std::array kSilicon = {
    Silicon{"gb300", "blackwell", GpuGeneration::kBlackwell, 2500, 5000, 15000, 8.0, 288, 900, 100, 1400, true},
    Silicon{"b300", "blackwell", GpuGeneration::kBlackwell, 2250, 4500, 13500, 8.0, 288, 900, 100, 1200, false},
    Silicon{"gb200", "blackwell", GpuGeneration::kBlackwell, 2500, 5000, 10000, 8.0, 186, 900, 50, 1200, true},
    Silicon{"b200", "blackwell", GpuGeneration::kBlackwell, 2250, 4500, 9000, 8.0, 180, 900, 50, 1000, false},
    Silicon{"gh200", "hopper", GpuGeneration::kHopper, 989.4, 1978.9, 0, 4.0, 96, 450, 50, 700, false},
    Silicon{"h200", "hopper", GpuGeneration::kHopper, 989.4, 1978.9, 0, 4.8, 141, 450, 50, 700, false},
    Silicon{"h100-96gb", "hopper", GpuGeneration::kHopper, 989.4, 1978.9, 0, 2.4, 96, 450, 50, 500, false},
    Silicon{"h100-pcie", "hopper", GpuGeneration::kHopper, 756, 1513, 0, 2.0, 80, 64, 25, 350, false},
    Silicon{"h800", "hopper", GpuGeneration::kHopper, 989.4, 1978.9, 0, 3.35, 80, 200, 50, 700, false},
    Silicon{"h20", "hopper", GpuGeneration::kHopper, 148, 296, 0, 4.0, 96, 450, 50, 500, false},
    Silicon{"h100", "hopper", GpuGeneration::kHopper, 989.4, 1978.9, 0, 3.35, 80, 450, 50, 700, false},
    Silicon{"a800", "ampere", GpuGeneration::kAmpere, 312, 0, 0, 2.039, 80, 200, 25, 400, false},
    Silicon{"a100", "ampere", GpuGeneration::kAmpere, 312, 0, 0, 2.039, 80, 300, 25, 400, false},
    Silicon{"v100", "volta", GpuGeneration::kVolta, 125, 0, 0, 0.9, 32, 150, 12.5, 300, false},
    Silicon{"mi300", "cdna3", GpuGeneration::kMi300, 1307, 2615, 0, 5.3, 192, 448, 50, 750, false},
    Silicon{"mi325", "cdna3", GpuGeneration::kMi300, 1307, 2615, 0, 6.0, 256, 448, 50, 1000, false},
    Silicon{"mi250", "cdna2", GpuGeneration::kMi300, 191.5, 0, 0, 1.6, 64, 150, 12.5, 280, false},
};

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr std::int64_t kDomain = 72;

template <class Q>
Sourced<Q> stated(double value) {
  return {from_si<Q>(value), "data sheet"};
}

Accelerator make_accelerator(const Silicon& silicon, const std::string& words, double memory_gb) {
  Accelerator accelerator;
  accelerator.name = std::string(silicon.word);
  const auto add = [&](DataType type, double tera) {
    if (tera > 0.0) {
      accelerator.dense_peak.emplace_back(type, stated<FlopsPerSecond>(tera * kTera));
    }
  };
  add(DataType::kFp16, silicon.bf16);
  if (silicon.generation != "volta") {
    add(DataType::kBf16, silicon.bf16);
  }
  add(DataType::kFp8, silicon.fp8);
  add(DataType::kMxFp8, silicon.fp8);
  add(DataType::kNvFp4, silicon.fp4);
  const bool small_a100 = silicon.word == "a100" && memory_gb < 60.0;
  const double bandwidth = small_a100 ? 1.555 : silicon.memory;
  accelerator.memory_bandwidth = stated<BytesPerSecond>(bandwidth * kTera);
  const bool pcie = contains(words, "pcie");
  accelerator.intra_node_bandwidth = stated<BytesPerSecond>((pcie ? 25.0 : silicon.nvlink) * kGiga);
  accelerator.power_w = Sourced<double>{contains(words, "pcie") ? 0.75 * silicon.watts : silicon.watts, "data sheet"};
  return accelerator;
}

}  // namespace

std::optional<BytesPerSecond> nic_rate(const std::string& words, std::int64_t gpus_per_node) {
  const auto per_gpu = static_cast<double>(gpus_per_node);
  // Bytes or bits: the words' own case tells.
  const auto gigabytes = [](const std::string& value, const std::string& unit) {
    const double number = std::stod(value) * (unit.front() == 'T' ? 1000.0 : 1.0);
    return unit.at(1) == 'B' ? number : number / 8.0;
  };
  std::smatch match;
  const std::regex counted(R"((\d+)\s*x\s*(\d+(?:\.\d+)?)\s*([GT]B/s|[GT]b/s|[GT]bit/s|[GT]bps|G(?:bE)?\b))");
  const auto unit_of = [](const std::string& unit) {
    return unit == "G" || unit == "GbE" ? std::string("Gb/s") : unit;
  };
  if (std::regex_search(words, match, counted)) {
    const double rate = std::stod(match[1]) * gigabytes(match[2], unit_of(match[3]));
    return from_si<BytesPerSecond>(rate / per_gpu * kGiga);
  }
  const std::regex plain(R"((\d+(?:\.\d+)?)\s*([GT]B/s|[GT]b/s|[GT]bit/s|[GT]bps))");
  if (!std::regex_search(words, match, plain)) {
    return std::nullopt;
  }
  const double rate = gigabytes(match[1], match[2]);
  const std::string text = lower_case(words);
  constexpr double kMostOfOne = 100.0;  // GB/s; more is a node's
  const bool of_gpu = contains(text, "per gpu") || contains(text, "each gpu");
  const bool of_node = contains(text, "node") || contains(text, "per host") || rate >= kMostOfOne;
  return from_si<BytesPerSecond>((of_node && !of_gpu ? rate / per_gpu : rate) * kGiga);
}

std::optional<DescribedMachine> described_machine(const HardwareWords& words) {
  const std::string gpu = lower_case(words.gpu);
  const auto silicon = std::find_if(kSilicon.begin(), kSilicon.end(),
                                    [&](const Silicon& known) { return contains(gpu, std::string(known.word)); });
  if (silicon == kSilicon.end()) {
    return std::nullopt;
  }
  const std::string links = gpu + " " + lower_case(words.intra_link);
  DescribedMachine machine;
  machine.generation = std::string(silicon->generation);
  machine.accelerator = make_accelerator(*silicon, links, words.memory_gb.value_or(silicon->memory_gb));
  const bool domain = silicon->domain && (contains(links, "nvl72") || contains(links, "domain"));
  std::int64_t per_node = std::max<std::int64_t>(1, words.gpus_per_node);
  if (domain) {
    // Jobs take a power of two of a rack's GPUs, so that 128 lie on two racks of 64.
    per_node = words.gpus > kDomain ? 64 : std::max<std::int64_t>(words.gpus, 1);
  }
  const BytesPerSecond usual = from_si<BytesPerSecond>(silicon->nic * kGiga);
  const BytesPerSecond nic = nic_rate(words.inter_link, words.gpus_per_node).value_or(usual);
  machine.fabric.name = words.inter_link;
  machine.fabric.accelerator = machine.accelerator.name;
  machine.fabric.ranks = {words.gpus, "row"};
  machine.fabric.ranks_per_node = {per_node, "row"};
  machine.fabric.nic_bandwidth = {nic, words.inter_link.empty() ? "the GPU's usual server" : "row"};
  CollectiveSite& node = machine.node;
  node.accelerator = machine.accelerator.name;
  node.generation = silicon->links;
  node.gpus_per_node = static_cast<int>(per_node);
  node.links = contains(links, "pcie") ? NodeLinks::kPcie
               : silicon->links == GpuGeneration::kMi300
                   ? NodeLinks::kXgmi
                   : (silicon->links == GpuGeneration::kVolta ? NodeLinks::kCubeMesh : NodeLinks::kNvswitch);
  if (silicon->word == "h800" || silicon->word == "a800") {
    node.intra_bandwidth = from_si<BytesPerSecond>(silicon->nvlink * 0.9 * kGiga);
  }
  node.nics = static_cast<int>(per_node);
  node.nic_rate = nic;
  const std::string fabric = lower_case(words.inter_link);
  node.fabric = contains(fabric, "efa")    ? FabricKind::kEfaV2
                : contains(fabric, "roce") ? FabricKind::kRoce
                                           : FabricKind::kInfiniband;
  node.nvls = (silicon->links == GpuGeneration::kHopper || silicon->links == GpuGeneration::kBlackwell) &&
              node.links == NodeLinks::kNvswitch;
  node.nvl_domain = domain;
  node.framework = true;
  return machine;
}

}  // namespace trainyard::simulator
