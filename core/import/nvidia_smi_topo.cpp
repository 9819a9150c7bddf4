#include "core/import/nvidia_smi_topo.h"
#include "core/import/text_lines.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/import/bus_rates.h"
#include "core/import/groups.h"
#include "core/import/node_names.h"
#include "core/import/parts.h"
#include "core/import/topo_matrix.h"

namespace trainyard {

namespace {

constexpr std::int32_t kMostNvlinksOfGpu = 18;  // H100, H200, B200

class NodeBuilder {
 public:
  explicit NodeBuilder(const TopoMatrix& matrix) : matrix_(matrix), count_(matrix.devices.size()) {}

  Cluster build() {
    cluster_.name = kImportedNode;
    node_ = cluster_.add_node(kImportedNode);
    vertex_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      (matrix_.devices[i].is_gpu ? gpus_ : nics_).push_back(i);
    }
    add_devices(gpus_, VertexKind::kGpu, matrix_.gpu_model.empty() ? "GPU" : matrix_.gpu_model);
    join_nvlinks();
    join_pcie();
    add_devices_notes();
    set_rails(cluster_);
    return std::move(cluster_);
  }

 private:
  VertexId add(VertexKind kind, const std::string& name, const std::string& type) {
    return cluster_.add_vertex({.kind = kind,
                                .name = in_node(unique_.name(name)),
                                .type = cluster_.add_device_type(parts_.device(type)),
                                .node = node_});
  }

  void add_devices(const std::vector<std::size_t>& devices, VertexKind kind, const std::string& type) {
    for (const std::size_t i : devices) {
      vertex_[i] = add(kind, matrix_.devices[i].name, type);
    }
  }

  bool model_has(std::initializer_list<const char*> parts) const {
    return std::any_of(parts.begin(), parts.end(),
                       [this](const char* part) { return matrix_.gpu_model.find(part) != std::string::npos; });
  }

  // ---- NVLink ---------------------------------------------------------------------------------------------

  // Links of each GPU to each other one; 0 where they differ.
  std::int32_t links_between_all() const {
    std::int32_t links = 0;
    for (const std::size_t a : gpus_) {
      for (const std::size_t b : gpus_) {
        const TopoCell cell = matrix_.cell(a, b);
        if (a != b && (cell.relation != TopoRelation::kNvlink || (links != 0 && cell.links != links))) {
          return 0;
        }
        links = a == b ? links : cell.links;
      }
    }
    return links;
  }

  std::int32_t most_links() const {
    std::int32_t most = 0;
    for (const TopoCell& cell : matrix_.cells) {
      most = std::max(most, cell.links);
    }
    return most;
  }

  std::int32_t generation() const {
    if (const auto known = nvlink_generation_of(matrix_.gpu_model)) {
      return *known;
    }
    const std::int32_t most = most_links();
    return most >= 16 ? 4 : most >= 3 ? 3 : 2;
  }

  void join_nvlinks() {
    const std::int32_t all = links_between_all();
    const auto peers = static_cast<std::int32_t>(gpus_.size()) - 1;
    if (all > 0 && peers * all > kMostNvlinksOfGpu) {
      const VertexId nvswitch = add(VertexKind::kNvswitch, "nvswitch0", "NVSwitch");
      for (const std::size_t gpu : gpus_) {
        cluster_.add_link(parts_.nvlink(vertex_[gpu], nvswitch, generation(), all));
      }
      cluster_.notes.emplace_back("the NVSwitches count as one: the matrix doesn't say how many there are");
      return;
    }
    for (const std::size_t a : gpus_) {
      for (const std::size_t b : gpus_) {
        if (a < b && matrix_.cell(a, b).relation == TopoRelation::kNvlink) {
          cluster_.add_link(parts_.nvlink(vertex_[a], vertex_[b], generation(), matrix_.cell(a, b).links));
        }
      }
    }
  }

  // ---- PCIe -----------------------------------------------------------------------------------------------

  Groups groups_of(TopoRelation widest) const {
    Groups groups(count_);
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = a + 1; b < count_; ++b) {
        const TopoRelation relation = matrix_.cell(a, b).relation;
        if (relation != TopoRelation::kNvlink && relation <= widest) {
          groups.join(a, b);
        }
      }
    }
    return groups;
  }

  // By the relations, and by equal NUMA affinity (CPU affinity where no NUMA node is given).
  Groups cpu_groups() const {
    Groups groups = groups_of(TopoRelation::kSameCpu);
    std::map<std::string, std::size_t> first;
    for (std::size_t i = 0; i < count_; ++i) {
      const TopoDevice& device = matrix_.devices[i];
      const std::string key = device.numa ? "numa " + std::to_string(*device.numa) : device.cpu_affinity;
      if (!key.empty()) {
        groups.join(first.try_emplace(key, i).first->second, i);
      }
    }
    return groups;
  }

  std::int32_t pcie_generation_of_gpus() const {
    if (matrix_.gpu_model.empty()) {
      const std::int32_t most = most_links();
      return most >= 16 ? 5 : most >= 8 ? 4 : kUnreportedPcieGeneration;
    }
    if (model_has({"B200", "B300", "B100", "H100", "H200", "H800", "H20"})) {
      return 5;
    }
    return model_has({"A100", "A800", "A10", "A40", "A6000", "L4", "Ada", "RTX 40"}) ? 4 : kUnreportedPcieGeneration;
  }

  Link upward(VertexId from, VertexId to) const {
    return parts_.pcie(from, to, pcie_generation_of_gpus(), kUnreportedPcieWidth);
  }

  void join_pcie() {
    Groups cpus = cpu_groups();
    Groups outer = groups_of(TopoRelation::kSwitches);
    Groups inner = groups_of(TopoRelation::kSameSwitch);
    const std::map<std::size_t, VertexId> cpu = add_cpus(cpus);
    std::map<std::size_t, std::vector<std::size_t>> inner_members;
    std::map<std::size_t, std::size_t> outer_parts;  // inner groups by outer group
    for (std::size_t i = 0; i < count_; ++i) {
      inner_members[inner.of(i)].push_back(i);
      outer_parts[outer.of(i)] += inner.of(i) == i ? 1 : 0;
    }
    std::map<std::size_t, VertexId> outer_switch;
    std::vector<Link> links;
    for (const auto& [first, members] : inner_members) {
      VertexId above = cpu.at(cpus.of(first));
      const std::size_t group = outer.of(first);
      if (outer_parts[group] > 1) {
        if (!outer_switch.contains(group)) {
          outer_switch[group] = add_switch();
          links.push_back(upward(outer_switch[group], above));
        }
        above = outer_switch[group];
      }
      if (members.size() > 1) {
        const VertexId inner_switch = add_switch();
        links.push_back(upward(inner_switch, above));
        above = inner_switch;
      }
      for (const std::size_t member : members) {
        above_[member] = above;
      }
    }
    add_devices(nics_, VertexKind::kNic, "NIC");
    for (std::size_t i = 0; i < count_; ++i) {
      links.push_back(upward(vertex_[i], above_.at(i)));
    }
    for (const Link& link : links) {
      cluster_.add_link(link);
    }
  }

  VertexId add_switch() { return add(VertexKind::kPcieSwitch, "pcie" + std::to_string(switches_++), "PCIe switch"); }

  std::map<std::size_t, VertexId> add_cpus(Groups& groups) {
    std::map<std::size_t, VertexId> cpu;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t group = groups.of(i);
      if (!cpu.contains(group)) {
        const auto numa = matrix_.devices[i].numa;
        cpu[group] =
            add(VertexKind::kCpu, "cpu" + std::to_string(numa.value_or(static_cast<std::int32_t>(cpu.size()))), "CPU");
      }
    }
    for (auto a = cpu.begin(); a != cpu.end(); ++a) {
      for (auto b = std::next(a); b != cpu.end(); ++b) {
        cluster_.add_link(parts_.socket(a->second, b->second, socket_rate({}, {}, 0, 0)));
      }
    }
    return cpu;
  }

  void add_devices_notes() {
    if (most_links() > 0 && matrix_.gpu_model.empty()) {
      cluster_.notes.emplace_back(
          "the matrix doesn't name the GPUs: NVLink counts 25 GB/s a link, as up to H200; B200's is twice that. Put "
          "the lines of `nvidia-smi -L` above the matrix");
    }
    cluster_.notes.emplace_back("the matrix gives no PCIe rates: counted as generation " +
                                std::to_string(pcie_generation_of_gpus()) + " x16");
    if (!nics_.empty()) {
      cluster_.notes.emplace_back("the matrix gives no NIC speeds");
    }
  }

  const TopoMatrix& matrix_;
  std::size_t count_;
  Parts parts_;
  Cluster cluster_;
  NodeId node_;
  UniqueNames unique_;
  std::vector<VertexId> vertex_;
  std::vector<std::size_t> gpus_;
  std::vector<std::size_t> nics_;
  std::map<std::size_t, VertexId> above_;  // what a device hangs below
  int switches_ = 0;
};

}  // namespace

Cluster import_nvidia_smi_topo(std::string_view text, const std::string& where) {
  require_text(text, where);
  const TopoMatrix matrix = read_topo_matrix(text, where);
  return NodeBuilder(matrix).build();
}

}  // namespace trainyard
