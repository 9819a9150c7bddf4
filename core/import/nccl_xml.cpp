#include "core/import/nccl_xml.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/import/bus_rates.h"
#include "core/import/limits.h"
#include "core/import/nccl_devices.h"
#include "core/import/nccl_links.h"
#include "core/import/node_names.h"
#include "core/import/parts.h"
#include "core/import/text_lines.h"
#include "core/import/xml_document.h"

namespace trainyard {

namespace {

using Role = NcclDevice::Role;

constexpr std::int32_t kMostDevice = 65535;  // a dev or numaid attribute

class NcclImporter {
 public:
  NcclImporter(std::string_view text, const std::string& where) : document_(text, where) {
    const std::string_view root = document_.root().name();
    if (root != "system") {
      document_.fail(document_.root(), "is not an NCCL topology, which starts with <system>");
    }
    listed_ = read_nccl_devices(document_);
  }

  Cluster import() {
    cluster_.name = kImportedNode;
    node_ = cluster_.add_node(kImportedNode);
    add_gpus();
    add_nvswitches();
    add_switches();
    add_cpus();
    add_nics();
    join_cpus();
    join_pcie();
    links_ = join_nccl_gpus(document_, listed_, {gpus_, vertex_, cpus_, nvswitches_}, parts_, cluster_);
    set_rails(cluster_);
    add_notes();
    return std::move(cluster_);
  }

 private:
  VertexId add(VertexKind kind, const std::string& name, DeviceType type) {
    if (cluster_.vertices().size() == kNodeDeviceLimit) {
      document_.fail(document_.root(), "more than " + std::to_string(kNodeDeviceLimit) + " devices in one node");
    }
    return cluster_.add_vertex({.kind = kind,
                                .name = in_node(unique_.name(name)),
                                .type = cluster_.add_device_type(std::move(type)),
                                .node = node_});
  }

  // Devices of a role in the order of their `dev`, or of their bus ids where one has none.
  std::vector<std::size_t> ordered(Role role, const char* child, const char* grandchild) const {
    std::vector<std::pair<std::string, std::size_t>> found;
    bool numbered = true;
    for (std::size_t i = 0; i < listed_.devices.size(); ++i) {
      if (listed_.devices[i].role == role) {
        numbered = numbered && element_of(i, child, grandchild).attribute("dev");
      }
    }
    for (std::size_t i = 0; i < listed_.devices.size(); ++i) {
      const NcclDevice& device = listed_.devices[i];
      if (device.role == role) {
        const pugi::xml_node element = element_of(i, child, grandchild);
        found.emplace_back(
            numbered ? std::to_string(document_.whole(element, "dev", -1, kMostDevice).value_or(0)) : device.bus, i);
      }
    }
    std::stable_sort(found.begin(), found.end(), [numbered](const auto& a, const auto& b) {
      return numbered ? natural_less(a.first, b.first) : a.first < b.first;
    });
    std::vector<std::size_t> order;
    for (const auto& [key, index] : found) {
      order.push_back(index);
    }
    return order;
  }

  pugi::xml_node element_of(std::size_t device, const char* child, const char* grandchild) const {
    const pugi::xml_node element = listed_.devices[device].element;
    const pugi::xml_node inner = std::string_view(element.name()) == child ? element : element.child(child);
    return grandchild == nullptr ? inner : inner.child(grandchild);
  }

  void add_gpus() {
    vertex_.resize(listed_.devices.size());
    for (const std::size_t i : ordered(Role::kGpu, "gpu", nullptr)) {
      const NcclDevice& device = listed_.devices[i];
      vertex_[i] = add(VertexKind::kGpu, "gpu" + std::to_string(gpus_.size()), DeviceType{.name = gpu_type(device)});
      gpus_.push_back(i);
    }
  }

  static std::string gpu_type(const NcclDevice& device) {
    if (const auto name =
            device_name(XmlDocument::text(device.element, "vendor"), XmlDocument::text(device.element, "device"))) {
      return *name;
    }
    const pugi::xml_node gpu = device.element.child("gpu");
    const std::string gcn(XmlDocument::text(gpu, "gcn"));
    if (!gcn.empty()) {
      return gcn.starts_with("gfx") ? gcn : "gfx" + (gcn == "910" ? "90a" : gcn);
    }
    const std::string sm(XmlDocument::text(gpu, "sm"));
    return sm.empty() ? "GPU" : "sm" + sm;
  }

  void add_switches() {
    for (std::size_t i = 0; i < listed_.devices.size(); ++i) {
      if (listed_.devices[i].role == Role::kSwitch) {
        vertex_[i] = add(VertexKind::kPcieSwitch, "pcie" + std::to_string(switches_++), parts_.device("PCIe switch"));
      }
    }
  }

  void add_cpus() {
    for (const pugi::xml_node cpu : listed_.cpus) {
      const auto numa = document_.whole(cpu, "numaid", -1, kMostDevice).value_or(static_cast<int>(cpus_.size()));
      const std::string vendor(XmlDocument::text(cpu, "vendor"));
      const std::string model(XmlDocument::text(cpu, "modelid"));
      const std::int32_t family = document_.whole(cpu, "familyid", 0, kMostDevice).value_or(0);
      // NCCL writes 16 x AMD's extended family beside the 15 that it extends.
      const std::int32_t whole_family = vendor == "AuthenticAMD" && family % 16 == 15 ? 15 + family / 16 : family;
      cpus_.push_back(
          add(VertexKind::kCpu, "cpu" + std::to_string(std::max(numa, 0)),
              parts_.processor(vendor.empty() ? "CPU" : vendor + " " + model, vendor, whole_family,
                               document_.whole(cpu, "modelid", 0, kMostDevice).value_or(0), listed_.cpus.size())));
    }
  }

  void add_nvswitches() {
    for (const std::size_t gpu : gpus_) {
      for (const pugi::xml_node link : listed_.devices[gpu].element.child("gpu").children()) {
        if (is_nvswitch_link(link) && !nvswitches_.contains(link_target(link))) {
          const std::string name = "nvswitch" + std::to_string(nvswitches_.size());
          nvswitches_[link_target(link)] = add(VertexKind::kNvswitch, name, parts_.device("NVSwitch"));
        }
      }
    }
  }

  // Each network port is a NIC; ports of one card share what joins them to the host.
  void add_nics() {
    std::map<std::string, std::vector<std::size_t>> cards;
    const std::vector<std::size_t> order = ordered(Role::kNic, "nic", "net");
    for (const std::size_t i : order) {
      cards[slot(i)].push_back(i);
    }
    for (const std::size_t i : order) {
      add_ports(i, cards[slot(i)]);
    }
  }

  // Where the device sits, without its PCI function: functions of one slot are one card.
  std::string slot(std::size_t device) const {
    const NcclDevice& of = listed_.devices[device];
    const std::size_t dot = of.bus.rfind('.');
    return dot == std::string::npos ? "device " + std::to_string(device) : of.bus.substr(0, dot);
  }

  void add_ports(std::size_t device, const std::vector<std::size_t>& card) {
    const pugi::xml_node element = listed_.devices[device].element;
    const pugi::xml_node nic = std::string_view(element.name()) == "nic" ? element : element.child("nic");
    std::set<std::pair<std::string, std::int32_t>> seen;
    std::vector<pugi::xml_node> ports;
    for (const pugi::xml_node net : nic.children("net")) {
      const std::int32_t port = document_.whole(net, "port", 0, kMostDevice).value_or(1);
      if (seen.emplace(std::string(XmlDocument::text(net, "name")), port).second) {
        ports.push_back(net);  // once: a port that can aggregate is listed again with coll="1"
      }
    }
    if (ports.empty()) {
      ports.emplace_back();
    }
    const bool shared = card.size() > 1 || ports.size() > 1;
    for (const pugi::xml_node net : ports) {
      const VertexId port = add_port(element, net);
      join_port(device, port, shared);
    }
  }

  VertexId add_port(pugi::xml_node element, pugi::xml_node net) {
    const std::int32_t megabits = document_.whole(net, "speed", 0, 100'000'000).value_or(0);
    DeviceType type{
        .name =
            device_name(XmlDocument::text(element, "vendor"), XmlDocument::text(element, "device")).value_or("NIC")};
    type.port_rate = megabits > 0 ? from_si<BytesPerSecond>(megabits * 1e6 / 8.0) : kUnreportedNicRate;
    unreported_nics_ += megabits > 0 ? 0 : 1;
    if (const auto direct = document_.whole(net, "gdr", 0, 1)) {
      type.gpudirect = *direct == 1;
    }
    const std::string name(XmlDocument::text(net, "name"));
    const int ordinal = nics_++;
    return add(VertexKind::kNic, name.empty() ? "nic" + std::to_string(ordinal) : name, std::move(type));
  }

  void join_port(std::size_t device, VertexId port, bool shared) {
    VertexId above = parent_vertex(device);
    if (shared) {
      const auto [card, is_new] = cards_.try_emplace(slot(device));
      if (is_new) {
        card->second =
            add(VertexKind::kPcieSwitch, "card" + std::to_string(cards_.size() - 1), {.name = "card of several ports"});
        cluster_.add_link(upward(device, card->second, above));
      }
      above = card->second;
    }
    cluster_.add_link(upward(device, port, above));
  }

  VertexId parent_vertex(std::size_t device) const {
    const NcclDevice& of = listed_.devices[device];
    return of.parent ? vertex_[*of.parent] : cpus_[of.cpu];
  }

  // The link above a device, by its link_speed ("16.0 GT/s PCIe") and link_width.
  Link upward(std::size_t device, VertexId from, VertexId to) {
    const pugi::xml_node element = listed_.devices[device].element;
    std::string_view unit;
    const auto speed = leading_number(XmlDocument::text(element, "link_speed"), unit);
    const auto generation = speed ? pcie_generation(*speed) : std::nullopt;
    const std::int32_t width = document_.whole(element, "link_width", 0, 255).value_or(0);
    unreported_links_ += generation && width > 0 && width <= 32 ? 0 : 1;
    return parts_.pcie(from, to, generation.value_or(kUnreportedPcieGeneration),
                       width > 0 && width <= 32 ? width : kUnreportedPcieWidth);
  }

  void join_pcie() {
    for (std::size_t i = 0; i < listed_.devices.size(); ++i) {
      if (listed_.devices[i].role != Role::kNic) {
        cluster_.add_link(upward(i, vertex_[i], parent_vertex(i)));
      }
    }
  }

  void join_cpus() {
    for (std::size_t a = 0; a < cpus_.size(); ++a) {
      const pugi::xml_node cpu = listed_.cpus[a];
      const BytesPerSecond rate = socket_rate(XmlDocument::text(cpu, "arch"), XmlDocument::text(cpu, "vendor"),
                                              document_.whole(cpu, "familyid", 0, kMostDevice).value_or(0),
                                              document_.whole(cpu, "modelid", 0, kMostDevice).value_or(0));
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) {
        cluster_.add_link(parts_.socket(cpus_[a], cpus_[b], rate));
      }
    }
  }

  // ---- What was assumed -----------------------------------------------------------------------------------

  void note(int count, const std::string& text) {
    if (count > 0) {
      cluster_.notes.push_back(text + ": " + std::to_string(count));
    }
  }

  void add_notes() {
    note(unreported_nics_, "NICs without a speed in the file, counted as 10 Gb/s as NCCL does");
    note(unreported_links_, "PCIe links without speed or width, counted as generation 3 x16 as NCCL does");
    note(links_.unknown_nvlinks, "NVLink connections of GPUs of unknown generation, counted as 25 GB/s a link");
    note(links_.unknown_xgmi, "xGMI connections of GPUs of unknown generation, counted as 46 GB/s a link");
    note(links_.to_absent, "links to GPUs that the file doesn't list, left out");
    note(listed_.ignored, "PCI devices that are neither GPU, NIC nor switch, left out");
    const auto links_gpus = [](const Link& link) {
      return link.kind == LinkKind::kNvlink || link.kind == LinkKind::kXgmi;
    };
    if (gpus_.size() > 1 && std::none_of(cluster_.links().begin(), cluster_.links().end(), links_gpus)) {
      cluster_.notes.emplace_back(
          "the file lists no NVLink or xGMI; files written by hand leave it to NCCL to find: where the GPUs have it, "
          "hand in a dump (NCCL_TOPO_DUMP_FILE) or `nvidia-smi topo -m`");
    }
  }

  XmlDocument document_;
  NcclDevices listed_;
  Parts parts_;
  Cluster cluster_;
  NodeId node_;
  UniqueNames unique_;
  std::vector<VertexId> vertex_;   // by listed device; NICs' ports are several
  std::vector<std::size_t> gpus_;  // listed devices in rank order
  std::vector<VertexId> cpus_;
  std::map<std::string, VertexId> nvswitches_;
  std::map<std::string, VertexId> cards_;
  NcclLinkCounts links_;
  int switches_ = 0;
  int nics_ = 0;
  int unreported_nics_ = 0;
  int unreported_links_ = 0;
};

}  // namespace

Cluster import_nccl_xml(std::string_view text, const std::string& where) {
  require_text(text, where);
  return NcclImporter(text, where).import();
}

}  // namespace trainyard
