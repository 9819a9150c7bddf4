#include "simulator/throughput/throughput_hardware.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

#include "core/document/text_match.h"
#include "core/plan/shipped.h"

namespace trainyard::simulator {

namespace {

// What a row's GPU is called, and the file of models/accelerators for it. In lower case; the first match counts.
struct Silicon {
  std::string_view word;
  std::string_view file;
  std::string_view generation;
  GpuGeneration links;
  double nic;         // GB/s of the usual server's, per GPU
  bool domain;        // may lie in a rack of NVLink
  double memory = 0;  // TB/s, where the part differs from the file
  double watts = 0;
};

constexpr std::array kSilicon = {
    Silicon{"gb300", "gb300", "blackwell", GpuGeneration::kBlackwell, 100, true},
    Silicon{"b300", "b300", "blackwell", GpuGeneration::kBlackwell, 100, false},
    Silicon{"gb200", "gb200", "blackwell", GpuGeneration::kBlackwell, 50, true},
    Silicon{"b200", "b200", "blackwell", GpuGeneration::kBlackwell, 50, false},
    Silicon{"gh200", "h100-sxm", "hopper", GpuGeneration::kHopper, 50, false, 4.0},
    Silicon{"h200", "h200", "hopper", GpuGeneration::kHopper, 50, false},
    Silicon{"h100-96gb", "h100-sxm", "hopper", GpuGeneration::kHopper, 50, false, 2.4, 500},
    Silicon{"h100-pcie", "h100-pcie", "hopper", GpuGeneration::kHopper, 25, false},
    Silicon{"h800", "h800", "hopper", GpuGeneration::kHopper, 50, false},
    Silicon{"h20", "h20", "hopper", GpuGeneration::kHopper, 50, false},
    Silicon{"h100", "h100-sxm", "hopper", GpuGeneration::kHopper, 50, false},
    Silicon{"a800", "a800", "ampere", GpuGeneration::kAmpere, 25, false},
    Silicon{"a100-pcie", "a100-pcie-80", "ampere", GpuGeneration::kAmpere, 25, false},
    Silicon{"a100", "a100-sxm-80", "ampere", GpuGeneration::kAmpere, 25, false},
    Silicon{"v100", "v100-sxm2-32", "volta", GpuGeneration::kVolta, 12.5, false},
    Silicon{"mi300", "mi300x", "cdna3", GpuGeneration::kMi300, 50, false},
    Silicon{"mi325", "mi325x", "cdna3", GpuGeneration::kMi300, 50, false},
    Silicon{"l40", "l40s", "ada", GpuGeneration::kOther, 12.5, false},
};

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr std::int64_t kDomain = 72;

Accelerator make_accelerator(const Silicon& silicon, double memory_gb) {
  constexpr double kSmallA100 = 60.0;  // GB: the 40 GB part's memory is slower too
  const bool small = silicon.file == "a100-sxm-80" && memory_gb > 0.0 && memory_gb < kSmallA100;
  Accelerator accelerator = open_accelerator(small ? "a100-sxm-40" : std::string(silicon.file));
  accelerator.name = std::string(silicon.file);
  if (silicon.memory > 0.0) {
    accelerator.memory_bandwidth = {from_si<BytesPerSecond>(silicon.memory * kTera), "the row's part"};
  }
  if (silicon.watts > 0.0) {
    accelerator.power_w = Sourced<double>{silicon.watts, "the row's part"};
  }
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
  std::string gpu = lower_case(words.gpu);
  std::replace_if(
      gpu.begin(), gpu.end(), [](char letter) { return letter == ' ' || letter == '_'; }, '-');
  const auto silicon = std::find_if(kSilicon.begin(), kSilicon.end(),
                                    [&](const Silicon& known) { return contains(gpu, std::string(known.word)); });
  if (silicon == kSilicon.end()) {
    return std::nullopt;
  }
  const std::string links = gpu + " " + lower_case(words.intra_link);
  DescribedMachine machine;
  machine.generation = std::string(silicon->generation);
  machine.accelerator = make_accelerator(*silicon, words.memory_gb.value_or(0.0));
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
    node.intra_bandwidth = from_si<BytesPerSecond>(0.9 * machine.accelerator.intra_node_bandwidth.value.si());
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
