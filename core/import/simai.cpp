#include "core/import/simai.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/import/limits.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

constexpr auto kMostNodes = static_cast<std::int64_t>(kImportVertexLimit) / 2;  // each may bring a NIC
constexpr auto kMostLinks = static_cast<std::int64_t>(kImportLinkLimit) / 2;

struct Header {
  std::size_t nodes = 0;
  std::size_t gpus_per_host = 0;  // 0: HPCC, whose ends are hosts
  std::size_t nvswitches = 0;
  std::size_t switches = 0;  // NVSwitches not counted
  std::size_t links = 0;
  std::string gpu;
};

enum class End : std::uint8_t { kDevice, kNvswitch, kSwitch };

struct Cable {
  std::size_t from = 0;
  std::size_t to = 0;
  BytesPerSecond rate;
  Seconds delay;
};

class TopologyReader {
 public:
  TopologyReader(std::string_view text, const std::string& where) : lines_(text), where_(where) {}

  Cluster read() {
    read_header();
    read_switches();
    while (cables_.size() < header_.links) {
      read_cable(next_words("a link: source destination rate delay error"));
    }
    std::string_view line;
    while (lines_.next(line)) {
      if (!trimmed(line).empty()) {
        fail("more than the " + std::to_string(header_.links) + " links of the first line");
      }
    }
    return build();
  }

 private:
  // ---- Reading --------------------------------------------------------------------------------------------

  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    throw Error(what, at_line(where_, lines_.number()), hint);
  }

  std::vector<std::string_view> next_words(const std::string& expected) {
    std::string_view line;
    while (lines_.next(line)) {
      std::vector<std::string_view> found = words(line);
      if (!found.empty()) {
        return found;
      }
    }
    fail("the text ends before " + expected, "was the file cut short?");
  }

  std::size_t number(std::string_view word, std::int64_t highest, const std::string& what) const {
    const auto value = whole_number(word, 0, highest);
    if (!value) {
      fail(quote(word) + " is not " + what);
    }
    return static_cast<std::size_t>(*value);
  }

  void read_header() {
    const auto found = next_words("the first line");
    if (found.size() != 6 && found.size() != 3) {
      fail(
          "expected nodes, GPUs a host, NVSwitches, switches, links and GPU type (SimAI) or nodes, switches and "
          "links (HPCC)");
    }
    const bool simai = found.size() == 6;
    header_.nodes = number(found[0], kMostNodes, "a number of nodes");
    header_.gpus_per_host = simai ? number(found[1], kMostNodes, "a number of GPUs in a host") : 0;
    header_.nvswitches = simai ? number(found[2], kMostNodes, "a number of NVSwitches") : 0;
    header_.switches = number(found[simai ? 3 : 1], kMostNodes, "a number of switches");
    header_.links = number(found[simai ? 4 : 2], kMostLinks, "a number of links");
    header_.gpu = simai ? std::string(found[5]) : "";
    if (header_.nvswitches + header_.switches >= header_.nodes || (simai && header_.gpus_per_host == 0)) {
      fail("no node is left for a GPU or host", "nodes count GPUs, NVSwitches and switches together");
    }
    if (header_.nodes > 2 * header_.links) {
      fail(std::to_string(header_.links) + " links can't reach " + std::to_string(header_.nodes) + " nodes");
    }
  }

  // The ids stand on one line, or on several.
  void read_switches() {
    end_.assign(header_.nodes, End::kDevice);
    const std::size_t count = header_.nvswitches + header_.switches;
    for (std::size_t read = 0; read < count;) {
      for (const std::string_view word : next_words("the ids of " + std::to_string(count) + " switches")) {
        const std::size_t id = node(word);
        if (end_[id] != End::kDevice || read == count) {
          fail("switch " + quote(word) + " is one too many");
        }
        end_[id] = read++ < header_.nvswitches ? End::kNvswitch : End::kSwitch;
      }
    }
  }

  std::size_t node(std::string_view word) const {
    return number(word, static_cast<std::int64_t>(header_.nodes) - 1,
                  "the id of a node, which are 0 to " + std::to_string(header_.nodes - 1));
  }

  void read_cable(const std::vector<std::string_view>& found) {
    if (found.size() < 4 || found.size() > 5) {
      fail("expected source, destination, rate, delay and error rate");
    }
    Cable cable{.from = node(found[0]), .to = node(found[1])};
    if (cable.from == cable.to) {
      fail("a link from a node to itself");
    }
    cable.rate = from_si<BytesPerSecond>(scaled(found[2], {{"Tbps", 1.25e11}, {"Gbps", 1.25e8}, {"Mbps", 1.25e5}}));
    cable.delay = from_si<Seconds>(scaled(found[3], {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}));
    if (!(cable.rate > BytesPerSecond())) {
      fail("a link without bandwidth");
    }
    cables_.push_back(cable);
  }

  struct Unit {
    std::string_view name;
    double scale;
  };
  double scaled(std::string_view word, std::initializer_list<Unit> units) const {
    std::string_view unit;
    const auto value = leading_number(word, unit);
    for (const Unit& known : units) {
      if (value && *value >= 0.0 && *value <= 1e9 && unit == known.name) {
        return *value * known.scale;
      }
    }
    fail(quote(word) + " is not a number with its unit", "such as 400Gbps and 0.0005ms");
  }

  // ---- Building -------------------------------------------------------------------------------------------

  Cluster build() {
    cluster_.name = header_.gpus_per_host > 0 ? "simai" : "hpcc";
    vertex_.resize(header_.nodes);
    nic_.resize(header_.nodes);
    add_devices();
    add_switches();
    for (const Cable& cable : cables_) {
      add_cable(cable);
    }
    for (std::size_t i = 0; i < header_.nodes; ++i) {
      if (nic_[i] && header_.gpus_per_host > 0) {
        cluster_.add_link({.from = vertex_[i],
                           .to = *nic_[i],
                           .kind = LinkKind::kPcie,
                           .bandwidth = nic_rate_[i],
                           .reverse_bandwidth = nic_rate_[i]});
      }
    }
    return std::move(cluster_);
  }

  void add_devices() {
    std::vector<bool> has_cable(header_.nodes, false);
    nic_rate_.resize(header_.nodes);
    for (const Cable& cable : cables_) {
      for (const auto& [a, b] : {std::pair(cable.from, cable.to), std::pair(cable.to, cable.from)}) {
        if (end_[a] == End::kDevice && end_[b] == End::kSwitch) {
          has_cable[a] = true;
          nic_rate_[a] += cable.rate;
        }
      }
    }
    std::size_t ordinal = 0;
    NodeId node;
    const std::size_t in_host = std::max<std::size_t>(header_.gpus_per_host, 1);
    for (std::size_t i = 0; i < header_.nodes; ++i) {
      if (end_[i] != End::kDevice) {
        continue;
      }
      const std::size_t local = ordinal % in_host;
      const std::string host = (header_.gpus_per_host > 0 ? "node" : "host") + std::to_string(ordinal / in_host);
      if (local == 0) {
        node = cluster_.add_node(host);
      }
      ++ordinal;
      if (header_.gpus_per_host == 0) {
        vertex_[i] = add(VertexKind::kNic, host, {.name = "NIC", .port_rate = rate_or_none(i)}, node);
        continue;
      }
      vertex_[i] = add(VertexKind::kGpu, host + "/gpu" + std::to_string(local), {.name = header_.gpu}, node);
      if (has_cable[i]) {
        nic_[i] = add(VertexKind::kNic, host + "/nic" + std::to_string(local),
                      {.name = "NIC", .port_rate = rate_or_none(i)}, node);
        cluster_.vertex(*nic_[i]).rail = static_cast<std::int32_t>(local);
      }
    }
  }

  std::optional<BytesPerSecond> rate_or_none(std::size_t i) const {
    return nic_rate_[i] > BytesPerSecond() ? std::optional(nic_rate_[i]) : std::nullopt;
  }

  VertexId add(VertexKind kind, std::string name, DeviceType type, std::optional<NodeId> node) {
    if (cluster_.device_types().size() > kMostDeviceTypes) {
      throw Error("has NICs of more than " + std::to_string(kMostDeviceTypes) + " different rates", where_);
    }
    return cluster_.add_vertex(
        {.kind = kind, .name = std::move(name), .type = cluster_.add_device_type(std::move(type)), .node = node});
  }

  // Tiers: a switch with a device below it is a leaf, then spine, then core.
  void add_switches() {
    std::vector<std::int32_t> tier(header_.nodes, 0);
    for (std::int32_t level = 1; level <= 3; ++level) {
      std::vector<std::size_t> reached;
      for (const Cable& cable : cables_) {
        for (const auto& [low, high] : {std::pair(cable.from, cable.to), std::pair(cable.to, cable.from)}) {
          const bool below = level == 1 ? end_[low] == End::kDevice : tier[low] == level - 1;
          if (below && end_[high] == End::kSwitch && tier[high] == 0) {
            reached.push_back(high);
          }
        }
      }
      for (const std::size_t id : reached) {
        tier[id] = level;
      }
    }
    for (std::size_t i = 0; i < header_.nodes; ++i) {
      if (end_[i] == End::kNvswitch) {
        vertex_[i] = add(VertexKind::kNvswitch, "nvswitch" + std::to_string(i), {.name = "NVSwitch"}, host_of(i));
      } else if (end_[i] == End::kSwitch) {
        const VertexKind kind = tier[i] == 1   ? VertexKind::kLeaf
                                : tier[i] == 2 ? VertexKind::kSpine
                                               : VertexKind::kCore;
        vertex_[i] = add(kind, "switch" + std::to_string(i), {.name = "switch"}, std::nullopt);
      }
    }
  }

  // The host of an NVSwitch is that of a GPU it is linked to.
  std::optional<NodeId> host_of(std::size_t nvswitch) {
    if (nvswitch_host_.empty()) {
      nvswitch_host_.resize(header_.nodes);
      for (const Cable& cable : cables_) {
        for (const auto& [gpu, other] : {std::pair(cable.from, cable.to), std::pair(cable.to, cable.from)}) {
          if (end_[gpu] == End::kDevice && end_[other] == End::kNvswitch) {
            nvswitch_host_[other] = cluster_.vertex(vertex_[gpu]).node;
          }
        }
      }
    }
    return nvswitch_host_[nvswitch];
  }

  void add_cable(const Cable& cable) {
    const bool inside = end_[cable.from] != End::kSwitch && end_[cable.to] != End::kSwitch;
    const auto outer = [&](std::size_t id) { return !inside && nic_[id] ? *nic_[id] : vertex_[id]; };
    cluster_.add_link({.from = outer(cable.from),
                       .to = outer(cable.to),
                       .kind = inside && header_.gpus_per_host > 0 ? LinkKind::kNvlink : LinkKind::kCable,
                       .network = inside && header_.gpus_per_host > 0 ? Network::kInternal : Network::kBackend,
                       .bandwidth = cable.rate,
                       .reverse_bandwidth = cable.rate,
                       .latency = cable.delay});
  }

  TextLines lines_;
  std::string where_;
  Header header_;
  std::vector<End> end_;
  std::vector<Cable> cables_;
  Cluster cluster_;
  std::vector<VertexId> vertex_;
  std::vector<std::optional<VertexId>> nic_;
  std::vector<BytesPerSecond> nic_rate_;
  std::vector<std::optional<NodeId>> nvswitch_host_;
};

}  // namespace

Cluster import_simai(std::string_view text, const std::string& where) {
  require_text(text, where);
  return TopologyReader(text, where).read();
}

}  // namespace trainyard
