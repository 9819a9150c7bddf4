#include "simulator/collective/hardware_text.h"

#include <algorithm>
#include <array>
#include <regex>

#include "core/document/text_match.h"

namespace trainyard::simulator {

namespace {

constexpr BytesPerSecond gbit(double rate) { return from_si<BytesPerSecond>(rate * 1e9 / 8.0); }

// Servers and instance types whose network is published. NICs of a node, back-end; for GB200 of a tray.
// Source: AWS EC2 accelerated computing instance pages; Google Cloud "GPU network bandwidth"; Azure ND-series pages;
// OCI compute shapes; NVIDIA DGX data sheets.
struct Machine {
  std::string_view word;
  std::string_view accelerator;
  GpuGeneration generation;
  int nics;
  double gbit_each;
  FabricKind fabric;
  bool domain = false;
};

constexpr std::array kMachines = {
    Machine{"p3dn", "v100", GpuGeneration::kVolta, 1, 100, FabricKind::kEfaV1},
    Machine{"p4d", "a100", GpuGeneration::kAmpere, 4, 100, FabricKind::kEfaV1},
    Machine{"p5en", "h200", GpuGeneration::kHopper, 16, 200, FabricKind::kEfaV3},
    Machine{"p5e", "h200", GpuGeneration::kHopper, 32, 100, FabricKind::kEfaV2},
    Machine{"p5.", "h100", GpuGeneration::kHopper, 32, 100, FabricKind::kEfaV2},
    Machine{"p5 ", "h100", GpuGeneration::kHopper, 32, 100, FabricKind::kEfaV2},
    Machine{"p6e-gb", "gb200", GpuGeneration::kBlackwell, 4, 400, FabricKind::kEfaV4, true},
    Machine{"p6-b300", "b300", GpuGeneration::kBlackwell, 16, 400, FabricKind::kEfaV4},
    Machine{"p6-b200", "b200", GpuGeneration::kBlackwell, 8, 400, FabricKind::kEfaV4},
    Machine{"a2-", "a100", GpuGeneration::kAmpere, 1, 100, FabricKind::kTcp},
    Machine{"a3-high", "h100", GpuGeneration::kHopper, 4, 200, FabricKind::kTcpx},
    Machine{"a3-mega", "h100", GpuGeneration::kHopper, 8, 200, FabricKind::kTcpxo},
    Machine{"a3mega", "h100", GpuGeneration::kHopper, 8, 200, FabricKind::kTcpxo},
    Machine{"a3-ultra", "h200", GpuGeneration::kHopper, 8, 400, FabricKind::kRoce},
    Machine{"a4x", "gb200", GpuGeneration::kBlackwell, 4, 400, FabricKind::kRoce, true},
    Machine{"a4-", "b200", GpuGeneration::kBlackwell, 8, 400, FabricKind::kRoce},
    Machine{"a100_v4", "a100", GpuGeneration::kAmpere, 8, 200, FabricKind::kInfiniband},
    Machine{"nd96asr", "a100", GpuGeneration::kAmpere, 8, 200, FabricKind::kInfiniband},
    Machine{"nd96amsr", "a100", GpuGeneration::kAmpere, 8, 200, FabricKind::kInfiniband},
    Machine{"nd96isr", "h100", GpuGeneration::kHopper, 8, 400, FabricKind::kInfiniband},
    Machine{"bm.gpu4.8", "a100", GpuGeneration::kAmpere, 16, 100, FabricKind::kRoce},
    Machine{"bm.gpu.b4.8", "a100", GpuGeneration::kAmpere, 16, 100, FabricKind::kRoce},
    Machine{"bm.gpu.a100", "a100", GpuGeneration::kAmpere, 16, 100, FabricKind::kRoce},
    Machine{"bm.gpu.h", "h100", GpuGeneration::kHopper, 8, 400, FabricKind::kRoce},
    Machine{"bm.gpu.b200", "b200", GpuGeneration::kBlackwell, 8, 400, FabricKind::kRoce},
    Machine{"bm.gpu.b300", "b300", GpuGeneration::kBlackwell, 8, 800, FabricKind::kRoce},
    Machine{"bm.gpu.gb", "gb200", GpuGeneration::kBlackwell, 4, 400, FabricKind::kRoce, true},
    Machine{"bm.gpu.mi300", "mi300", GpuGeneration::kMi300, 8, 400, FabricKind::kRoce},
    Machine{"bm.gpu.mi35", "mi355", GpuGeneration::kMi350, 8, 400, FabricKind::kRoce},
    Machine{"dgx-2", "v100", GpuGeneration::kVolta, 8, 100, FabricKind::kInfiniband},
    Machine{"dgx-1", "v100", GpuGeneration::kVolta, 4, 100, FabricKind::kInfiniband},
};

// What usually stands around an accelerator. First match wins: longer words before the words they contain.
struct Accelerator {
  std::string_view word;
  GpuGeneration generation;
  int nics;
  double gbit_each;
  bool domain = false;
  double links_gbps = 0.0;  // where a variant's NVLinks differ from its generation's
};

constexpr std::array kAccelerators = {
    Accelerator{"gb300", GpuGeneration::kBlackwell, 4, 800, true},
    Accelerator{"gb200", GpuGeneration::kBlackwell, 4, 400, true},
    Accelerator{"nvl72", GpuGeneration::kBlackwell, 4, 400, true},
    Accelerator{"b300", GpuGeneration::kBlackwell, 8, 800},
    Accelerator{"b200", GpuGeneration::kBlackwell, 8, 400},
    Accelerator{"b100", GpuGeneration::kBlackwell, 8, 400},
    Accelerator{"blackwell", GpuGeneration::kBlackwell, 8, 400},
    Accelerator{"h800", GpuGeneration::kHopper, 8, 400, false, 164.8},
    Accelerator{"gh200", GpuGeneration::kHopper, 4, 200, false, 0.0},
    Accelerator{"h200", GpuGeneration::kHopper, 8, 400},
    Accelerator{"h100", GpuGeneration::kHopper, 8, 400},
    Accelerator{"h20", GpuGeneration::kHopper, 8, 400},
    Accelerator{"hopper", GpuGeneration::kHopper, 8, 400},
    Accelerator{"a800", GpuGeneration::kAmpere, 8, 200, false, 160.0},
    Accelerator{"a100", GpuGeneration::kAmpere, 8, 200},
    Accelerator{"ampere", GpuGeneration::kAmpere, 8, 200},
    Accelerator{"v100", GpuGeneration::kVolta, 4, 100},
    Accelerator{"volta", GpuGeneration::kVolta, 4, 100},
    Accelerator{"mi300", GpuGeneration::kMi300, 8, 400},
    Accelerator{"mi325", GpuGeneration::kMi300, 8, 400},
    Accelerator{"mi350", GpuGeneration::kMi350, 8, 400},
    Accelerator{"mi355", GpuGeneration::kMi350, 8, 400},
};

// GPUs that come as PCIe cards only.
constexpr std::array<std::string_view, 10> kCards = {"l40", "l4 ",   "a10g", "a10 ", "a30",
                                                     "a40", "a6000", "rtx",  "t4 ",  "pcie"};

struct Nics {
  int count = 0;
  double gbit_each = 0.0;
};

// "8x400G", "32x100Gb", "16 x 200 Gbps"; "200Gb RDMA", "100G IB" is one; "3200 Gbps", "3.2 Tbps" a node's total.
std::optional<Nics> find_nics(const std::string& text) {
  static constexpr auto kFlags = std::regex::ECMAScript;
  const std::regex several("([0-9]+) ?[xX] ?([0-9]+) ?G(b|bps|bE|bit|bit/s|bps)?(?![A-Za-z])", kFlags);
  const std::regex single("(^|[^0-9xX])([0-9]+) ?G(b|bps|bE|bit|bit/s)?(?![A-Za-z])", kFlags);
  const std::regex tera("([0-9.]+) ?T(b|bps|bit|bit/s)(?![A-Za-z])", kFlags);
  std::smatch match;
  if (std::regex_search(text, match, several)) {
    return Nics{std::min(std::stoi(match[1].str().substr(0, 4)), 1024), std::stod(match[2].str())};
  }
  if (std::regex_search(text, match, tera)) {
    return Nics{8, std::stod(match[1].str()) * 1000.0 / 8.0};
  }
  if (std::regex_search(text, match, single)) {
    const double rate = std::stod(match[2].str());
    return rate > 800.0 ? Nics{8, rate / 8.0} : Nics{1, rate};
  }
  return std::nullopt;
}

std::optional<FabricKind> find_fabric(const std::string& text) {
  const std::regex efa("efa ?v?([1-4])");
  std::smatch match;
  if (std::regex_search(text, match, efa)) {
    return static_cast<FabricKind>(static_cast<int>(FabricKind::kEfaV1) + (match[1].str()[0] - '1'));
  }
  if (contains(text, "tcpxo") || contains(text, "fastrak")) {
    return FabricKind::kTcpxo;
  }
  if (contains(text, "tcpx")) {
    return FabricKind::kTcpx;
  }
  if (contains(text, "roce") || contains(text, "spectrum")) {
    return FabricKind::kRoce;
  }
  const std::regex infiniband("(^|[^a-z])(ib|infiniband|ndr|hdr|edr|xdr|quantum)([^a-z]|$)");
  if (std::regex_search(text, infiniband)) {
    return FabricKind::kInfiniband;
  }
  if (contains(text, "rdma")) {
    return FabricKind::kRoce;
  }
  if (contains(text, "tcp") || contains(text, "socket")) {
    return FabricKind::kTcp;
  }
  return std::nullopt;
}

// A cloud's NICs carry a version that goes with the accelerator.
FabricKind efa_of(GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::kHopper:
      return FabricKind::kEfaV2;
    case GpuGeneration::kBlackwell:
      return FabricKind::kEfaV4;
    default:
      return FabricKind::kEfaV1;
  }
}

double pcie_gbps(const std::string& text) {
  const std::regex generation("(gen ?|pcie ?)([3-6])");
  std::smatch match;
  int found = 4;
  if (std::regex_search(text, match, generation)) {
    found = match[2].str()[0] - '0';
  } else if (contains(text, "h100") || contains(text, "h200") || contains(text, "h20")) {
    found = 5;
  } else if (contains(text, "v100") || contains(text, "t4")) {
    found = 3;
  }
  // 24 at Gen4 and 48 at Gen5: NVIDIA GTC24 S62129 slide 12; others by the lane rate.
  constexpr std::array<double, 4> kRates = {12.0, 24.0, 48.0, 96.0};
  return kRates.at(static_cast<std::size_t>(found - 3));
}

struct Found {
  std::string accelerator;
  GpuGeneration generation = GpuGeneration::kOther;
  Nics nics;
  std::optional<FabricKind> fabric;
  double links_gbps = 0.0;
  bool domain = false;
  bool nics_published = false;  // by the instance type
};

std::optional<Found> find_machine(const std::string& text) {
  std::optional<Found> found;
  for (const Accelerator& accelerator : kAccelerators) {
    if (contains(text, accelerator.word)) {
      found = Found{std::string(accelerator.word),
                    accelerator.generation,
                    {accelerator.nics, accelerator.gbit_each},
                    std::nullopt,
                    accelerator.links_gbps,
                    accelerator.domain};
      break;
    }
  }
  for (const Machine& machine : kMachines) {
    if (contains(text, machine.word)) {
      const bool same = !found || found->generation == machine.generation;
      if (same) {
        found = Found{found ? found->accelerator : std::string(machine.accelerator),
                      machine.generation,
                      {machine.nics, machine.gbit_each},
                      machine.fabric,
                      found ? found->links_gbps : 0.0,
                      machine.domain || (found && found->domain),
                      true};
      }
      break;
    }
  }
  return found;
}

int number_before(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? std::stoi(match[1].str().substr(0, 6)) : 0;
}

void place_ranks(DescribedSite& described, const std::string& text, std::optional<int> nodes,
                 std::optional<int> ranks) {
  CollectiveSite& site = described.site;
  const int said_nodes = number_before(text, "(?:^|[^a-z0-9])([0-9]+)[ -]?nodes?(?:[^a-z]|$)");
  const int instances = number_before(text, "(?:^|[^0-9])([0-9]+) ?x (?:p[3-6]|a[2-4]-|bm\\.|nd[0-9]|dgx|hgx)");
  if (!nodes && (said_nodes > 0 || instances > 0)) {
    nodes = said_nodes > 0 ? said_nodes : instances;
  }
  int per_node = site.gpus_per_node;
  if (!ranks && nodes) {
    ranks = *nodes * per_node;
    described.assumed.emplace_back("ranks");
  }
  if (!ranks) {
    // Where the text names its network, the figure is of one; 16 nodes stand for "many".
    const bool networked =
        std::find(described.assumed.begin(), described.assumed.end(), "nics") == described.assumed.end();
    ranks = site.nics > 0 && networked ? 16 * per_node : per_node;
    described.assumed.emplace_back("ranks");
  }
  if (site.nvl_domain) {
    nodes = (*ranks + per_node - 1) / per_node;
  }
  if (!nodes) {
    nodes = std::max(1, (*ranks + per_node - 1) / per_node);
    if (*ranks > per_node) {
      described.assumed.emplace_back("nodes");
    }
  }
  site.ranks = std::max(*ranks, 1);
  site.nodes = std::clamp(*nodes, 1, site.ranks);
}

}  // namespace

std::optional<DescribedSite> describe_site(std::string_view text, std::optional<int> nodes, std::optional<int> ranks) {
  const std::string original(text.substr(0, 1000));
  const std::string words = lower_case(original) + " ";
  const std::optional<Nics> nics = find_nics(original);
  const bool card =
      std::any_of(kCards.begin(), kCards.end(), [&](std::string_view word) { return contains(words, word); });
  const std::optional<Found> machine = find_machine(words);
  if (!machine && !card && !nics) {
    return std::nullopt;
  }
  DescribedSite described;
  CollectiveSite& site = described.site;
  // NICs alone: a bound that holds for any GPU behind them; Hopper's node doesn't bind.
  const Found found = machine.value_or(Found{"", card ? GpuGeneration::kOther : GpuGeneration::kHopper});
  site.accelerator = found.accelerator;
  site.generation = found.generation;
  if (card && !contains(words, "sxm") && !contains(words, "nvlink")) {
    site.links = NodeLinks::kPcie;
    site.intra_bandwidth = from_si<BytesPerSecond>(pcie_gbps(words) * 1e9);
  } else if (found.generation == GpuGeneration::kMi300 || found.generation == GpuGeneration::kMi350) {
    site.links = NodeLinks::kXgmi;
  } else if (found.generation == GpuGeneration::kVolta && !contains(words, "dgx-2") && !contains(words, "nvswitch")) {
    site.links = NodeLinks::kCubeMesh;
  }
  if (found.links_gbps > 0.0) {
    site.intra_bandwidth = from_si<BytesPerSecond>(found.links_gbps * 1e9);
  }
  site.nvl_domain = found.domain;
  const int domain = number_before(words, "nvl ?([0-9]+)");
  const int installed = number_before(words, "([0-9]+) ?x (gpu|a100|h100|h200|b200|b300|v100|mi3|l40|a10)");
  site.gpus_per_node = found.domain ? (domain > 1 ? domain : 72) : installed >= 2 && installed <= 16 ? installed : 8;
  const Nics joined = nics.value_or(found.nics);
  // A tray of an NVLink domain has four GPUs.
  site.nics = found.domain ? std::max(1, joined.count * site.gpus_per_node / 4) : joined.count;
  site.nic_rate = gbit(joined.gbit_each);
  if (!nics && !found.nics_published) {
    described.assumed.emplace_back("nics");
  }
  std::optional<FabricKind> fabric = find_fabric(words);
  if (!fabric && std::regex_search(words, std::regex("(^|[^a-z])efa"))) {
    fabric = found.fabric.value_or(efa_of(found.generation));
  }
  if (!fabric) {
    fabric = found.fabric;
  }
  if (!fabric) {
    described.assumed.emplace_back("fabric");
  }
  site.fabric = fabric.value_or(FabricKind::kInfiniband);
  const bool reducing = found.generation == GpuGeneration::kHopper || found.generation == GpuGeneration::kBlackwell;
  site.nvls = reducing && site.links == NodeLinks::kNvswitch && !contains(words, "nvls_enable=0");
  site.sharp = (contains(words, "collnet") || contains(words, "sharp")) && !contains(words, "nvlink4 sharp") &&
               !contains(words, "nvlink5 sharp") && !contains(words, "nvlink sharp");
  place_ranks(described, words, nodes, ranks);
  return described;
}

}  // namespace trainyard::simulator
