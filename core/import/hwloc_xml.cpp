#include "core/import/hwloc_xml.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/error.h"
#include "core/import/bus_rates.h"
#include "core/import/hwloc_devices.h"
#include "core/import/limits.h"
#include "core/import/node_names.h"
#include "core/import/parts.h"
#include "core/import/text_lines.h"
#include "core/import/xml_document.h"

namespace trainyard {

namespace {

constexpr std::size_t kMostMatrix = 1024;  // devices in a matrix of bandwidths

class HwlocImporter {
 public:
  HwlocImporter(std::string_view text, const std::string& where) : document_(text, where) {
    if (std::string_view(document_.root().name()) != "topology") {
      document_.fail(document_.root(), "is not an hwloc topology, which starts with <topology>");
    }
    devices_ = read_hwloc_devices(document_);
  }

  Cluster import() {
    cluster_.name = kImportedNode;
    node_ = cluster_.add_node(kImportedNode);
    add_cpus();
    for (const HwlocItem& item : devices_.items) {
      add_item(item, cpus_[item.cpu]);
    }
    for (const char* element : {"distances2", "distances2hetero"}) {
      for (const pugi::xml_node matrix : document_.root().children(element)) {
        add_matrix(matrix);
      }
    }
    set_rails(cluster_);
    add_notes();
    return std::move(cluster_);
  }

 private:
  VertexId add(VertexKind kind, const std::string& name, const std::string& type) {
    return add(kind, name, parts_.device(type));
  }

  VertexId add(VertexKind kind, const std::string& name, DeviceType type) {
    return cluster_.add_vertex({.kind = kind,
                                .name = in_node(unique_.name(name)),
                                .type = cluster_.add_device_type(std::move(type)),
                                .node = node_});
  }

  void add_cpus() {
    for (const HwlocCpu& cpu : devices_.cpus) {
      cpus_.push_back(add(VertexKind::kCpu, "cpu" + std::to_string(cpus_.size()),
                          parts_.processor(cpu.model, cpu.vendor, cpu.family, cpu.number,
                                           std::min<std::size_t>(devices_.cpus.size(), 2))));
      at_[cpu.index] = cpus_.back();
    }
    for (std::size_t a = 0; a < cpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) {
        const HwlocCpu& cpu = devices_.cpus[a];
        cluster_.add_link(
            parts_.socket(cpus_[a], cpus_[b], socket_rate(devices_.architecture, cpu.vendor, cpu.family, cpu.number)));
      }
    }
  }

  void add_item(const HwlocItem& item, VertexId above) {
    VertexId vertex;
    switch (item.role) {
      case HwlocItem::Role::kSwitch:
        vertex = add(VertexKind::kPcieSwitch, "pcie" + std::to_string(switches_++), "PCIe switch");
        break;
      case HwlocItem::Role::kGpu:
        vertex = add(VertexKind::kGpu, "gpu" + std::to_string(gpus_++), item.type);
        break;
      case HwlocItem::Role::kNic:
        vertex = add(VertexKind::kNic, item.name.empty() ? "nic" + std::to_string(nics_) : item.name, item.type);
        ++nics_;
        break;
    }
    for (const std::string& index : item.indices) {
      at_[index] = vertex;
    }
    cluster_.add_link(upward(vertex, above, item.gigabytes));
    for (const HwlocItem& below : item.below) {
      add_item(below, vertex);
    }
  }

  // hwloc gives lanes x rate as one number: taken for the widest link that has it.
  Link upward(VertexId from, VertexId to, double gigabytes) {
    if (gigabytes <= 0.0) {
      ++unreported_links_;
      return parts_.pcie(from, to, kUnreportedPcieGeneration, kUnreportedPcieWidth);
    }
    for (const std::int32_t lanes : {16, 8, 4, 2, 1}) {
      for (std::int32_t generation = 1; generation <= 6; ++generation) {
        if (std::abs(pcie_rate(generation, lanes).si() / (gigabytes * 1e9) - 1.0) < 0.01) {
          return parts_.pcie(from, to, generation, lanes);
        }
      }
    }
    Link link = parts_.pcie(from, to, kUnreportedPcieGeneration, 1);
    link.generation.reset();
    link.bandwidth = link.reverse_bandwidth = from_si<BytesPerSecond>(gigabytes * 1e9);
    return link;
  }

  // ---- Bandwidths between devices -------------------------------------------------------------------------

  static std::string joined(pugi::xml_node matrix, const char* element) {
    std::string text;
    for (const pugi::xml_node part : matrix.children(element)) {
      text += part.child_value();
      text += ' ';
    }
    return text;
  }

  void add_matrix(pugi::xml_node matrix) {
    const std::string_view name = XmlDocument::text(matrix, "name");
    if (name != "NVLinkBandwidth" && name != "XGMIBandwidth") {
      return;
    }
    const std::string index_text = joined(matrix, "indexes");
    const std::string value_text = joined(matrix, "u64values");
    const std::vector<std::string_view> indices = words(index_text);
    const std::vector<std::string_view> values = words(value_text);
    const std::size_t n = indices.size();
    if (n > kMostMatrix || values.size() != n * n) {
      document_.fail(matrix,
                     "a matrix of " + std::to_string(n) + " devices with " + std::to_string(values.size()) + " values");
    }
    std::vector<VertexId> ends;
    for (const std::string_view index : indices) {
      ends.push_back(device(matrix, index));
    }
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = a + 1; b < n; ++b) {
        add_bandwidth(matrix, ends[a], ends[b], megabytes(matrix, values[a * n + b]),
                      megabytes(matrix, values[b * n + a]), name == "XGMIBandwidth");
      }
    }
  }

  // "PCIDev:449": by gp_index. A PCI device that is no GPU and has NVLinks is an NVSwitch.
  VertexId device(pugi::xml_node matrix, std::string_view index) {
    const std::string number(index.substr(index.find(':') + 1));
    const auto found = at_.find(number);
    if (found != at_.end()) {
      return found->second;
    }
    if (!index.starts_with("PCIDev:")) {
      document_.fail(matrix, "device " + quote(index) + " is not in the file");
    }
    return at_[number] = add(VertexKind::kNvswitch, "nvswitch" + std::to_string(nvswitches_++), "NVSwitch");
  }

  double megabytes(pugi::xml_node matrix, std::string_view word) const {
    const auto value = whole_number(word, 0, 100'000'000'000);
    if (!value) {
      document_.fail(matrix, quote(word) + " is not a bandwidth in MB/s");
    }
    return static_cast<double>(*value);
  }

  void add_bandwidth(pugi::xml_node matrix, VertexId a, VertexId b, double there, double back, bool xgmi) {
    if (there <= 0.0 && back <= 0.0) {
      return;
    }
    if (a == b) {
      document_.fail(matrix, "lists a device twice");
    }
    there = there > 0.0 ? there : back;
    back = back > 0.0 ? back : there;
    const VertexId gpu = cluster_.vertex(a).kind == VertexKind::kGpu ? a : b;
    const auto generation = xgmi ? std::nullopt : nvlink_generation_of(cluster_.type(gpu).name);
    Link link{.from = a,
              .to = b,
              .kind = xgmi ? LinkKind::kXgmi : LinkKind::kNvlink,
              .generation = generation,
              .bandwidth = from_si<BytesPerSecond>(there * 1e6),
              .reverse_bandwidth = from_si<BytesPerSecond>(back * 1e6),
              .latency = parts_.nvlink_latency()};
    if (generation) {
      const double links = std::round(link.bandwidth / nvlink_rate(*generation, 1));
      link.width = static_cast<std::int32_t>(std::clamp(links, 1.0, 1024.0));
    }
    cluster_.add_link(link);
  }

  void add_notes() {
    if (unreported_links_ > 0) {
      cluster_.notes.push_back("PCIe links without a speed in the file, counted as generation 3 x16: " +
                               std::to_string(unreported_links_));
    }
    if (nics_ > 0) {
      cluster_.notes.emplace_back("hwloc gives no NIC speeds");
    }
  }

  XmlDocument document_;
  HwlocDevices devices_;
  Parts parts_;
  Cluster cluster_;
  NodeId node_;
  UniqueNames unique_;
  std::vector<VertexId> cpus_;
  std::map<std::string, VertexId> at_;  // by gp_index
  int switches_ = 0;
  int gpus_ = 0;
  int nics_ = 0;
  int nvswitches_ = 0;
  int unreported_links_ = 0;
};

}  // namespace

Cluster import_hwloc_xml(std::string_view text, const std::string& where) {
  require_text(text, where);
  return HwlocImporter(text, where).import();
}

}  // namespace trainyard
