#include "core/cluster/build/host.h"

namespace trainyard::build {

namespace {

class HostBuilder {
 public:
  HostBuilder(Assembler& assembler, const HostType& type, const std::string& name)
      : assembler_(assembler), type_(type), name_(name) {
    host_.node = assembler.cluster().add_node(name);
  }

  Host build(std::optional<VertexId> rack_nvswitch) {
    add_gpus(rack_nvswitch);
    add_cpus();
    add_pcie();
    add_nics();
    add_front_nics();
    return host_;
  }

 private:
  VertexId add(VertexKind kind, const std::string& name, DeviceTypeId type, std::optional<int> rail = {}) {
    Vertex vertex;
    vertex.kind = kind;
    vertex.name = name_ + "/" + name;
    vertex.type = type;
    vertex.node = host_.node;
    vertex.rail = rail;
    return assembler_.cluster().add_vertex(std::move(vertex));
  }

  void add_gpus(std::optional<VertexId> nvswitch) {
    const DeviceTypeId gpu = assembler_.bare_device(type_.gpu, type_.source);
    for (int i = 0; i < type_.gpus; ++i) {
      host_.gpus.push_back(add(VertexKind::kGpu, "gpu" + std::to_string(i), gpu));
    }
    if (type_.nvlink_generation == 0) {
      return;
    }
    if (!nvswitch) {
      nvswitch = add(VertexKind::kNvswitch, "nvswitch", assembler_.device("NVSwitch"));
    }
    for (const VertexId vertex : host_.gpus) {
      assembler_.bus(vertex, *nvswitch, LinkKind::kNvlink, type_.nvlink_bandwidth, type_.nvlink_generation,
                     type_.nvlinks);
    }
  }

  void add_cpus() {
    for (int i = 0; i < type_.cpus; ++i) {
      cpus_.push_back(add(VertexKind::kCpu, "cpu" + std::to_string(i), assembler_.device(type_.cpu)));
    }
    for (std::size_t i = 1; i < cpus_.size(); ++i) {
      assembler_.bus(cpus_[i - 1], cpus_[i], LinkKind::kCpuInterconnect, type_.cpu_interconnect, {}, 1);
    }
  }

  // Devices of index i of n belong to the same share of the CPUs.
  VertexId cpu_of(int i, int n) const {
    return cpus_[static_cast<std::size_t>(i) * cpus_.size() / static_cast<std::size_t>(n)];
  }

  void add_pcie() {
    const int per_switch = type_.coherent ? 0 : type_.gpus_per_pcie_switch;
    for (int i = 0; i < type_.gpus; ++i) {
      const VertexId gpu = host_.gpus[static_cast<std::size_t>(i)];
      if (type_.coherent) {
        assembler_.bus(gpu, cpu_of(i, type_.gpus), LinkKind::kC2c, type_.coherent_bandwidth, {}, 1);
      } else if (per_switch == 0) {
        assembler_.pcie(gpu, cpu_of(i, type_.gpus), type_.pcie_generation);
      } else {
        if (i % per_switch == 0) {
          pcie_switches_.push_back(
              add(VertexKind::kPcieSwitch, "pcie" + std::to_string(i / per_switch), assembler_.device("PCIe switch")));
          assembler_.pcie(pcie_switches_.back(), cpu_of(i, type_.gpus), type_.pcie_generation);
        }
        assembler_.pcie(gpu, pcie_switches_.back(), type_.pcie_generation);
      }
    }
  }

  void add_nics() {
    if (type_.nics == 0) {
      return;
    }
    const DeviceTypeId device = assembler_.nic_device(type_.nic, type_.nic_rate);
    for (int i = 0; i < type_.nics; ++i) {
      const VertexId nic = add(VertexKind::kNic, "nic" + std::to_string(i), device, i);
      host_.nics.push_back(nic);
      const VertexId root = pcie_switches_.empty()
                                ? cpu_of(i, type_.nics)
                                : pcie_switches_[static_cast<std::size_t>(i) * pcie_switches_.size() /
                                                 static_cast<std::size_t>(type_.nics)];
      assembler_.pcie(nic, root, type_.pcie_generation);
    }
  }

  void add_front_nics() {
    if (type_.front_nics == 0) {
      return;
    }
    const DeviceTypeId device = assembler_.nic_device(type_.front_nic, type_.front_rate);
    for (int i = 0; i < type_.front_nics; ++i) {
      const VertexId nic = add(VertexKind::kNic, "front" + std::to_string(i), device);
      host_.front_nics.push_back(nic);
      assembler_.pcie(nic, cpu_of(i, type_.front_nics), type_.pcie_generation);
    }
  }

  Assembler& assembler_;
  const HostType& type_;
  const std::string& name_;
  Host host_;
  std::vector<VertexId> cpus_;
  std::vector<VertexId> pcie_switches_;
};

}  // namespace

// NVLink rates are one way: half of the data sheets' sums of both. CPU interconnect rates are those that NCCL
// assumes (graph/topo.h): 40 GB/s for Intel's Emerald Rapids, 22 for Sapphire Rapids, 16 for AMD.
HostType dgx_a100() {
  HostType type;
  type.name = "DGX A100";
  type.source = "NVIDIA DGX A100 data sheet: 8 GPUs, 600 GB/s NVLink each both ways together, 8 x 200 Gbit/s";
  type.gpu = "A100-SXM4";
  type.nvlink_generation = 3;
  type.nvlinks = 12;
  type.nvlink_bandwidth = 300_GBps;
  type.cpu = "CPU, 8 x DDR4-3200";
  type.cpu_interconnect = 16_GBps;
  type.pcie_generation = 4;
  type.gpus_per_pcie_switch = 2;
  type.nic = "ConnectX-6";
  type.nic_rate = 200_Gbps;
  type.front_nic = "ConnectX-6";
  type.front_rate = 200_Gbps;
  return type;
}

HostType dgx_h100() {
  HostType type;
  type.name = "DGX H100";
  type.source = "NVIDIA DGX H100 data sheet: 8 GPUs, 900 GB/s NVLink each both ways together, 8 x 400 Gbit/s";
  type.gpu = "H100-SXM5";
  type.nvlink_generation = 4;
  type.nvlinks = 18;
  type.nvlink_bandwidth = 450_GBps;
  type.cpu = "CPU, 8 x DDR5-4800";
  type.cpu_interconnect = 22_GBps;
  type.nic_rate = 400_Gbps;
  type.front_rate = 200_Gbps;
  return type;
}

HostType dgx_b200() {
  HostType type = dgx_h100();
  type.name = "DGX B200";
  type.source = "NVIDIA DGX B200 data sheet: 8 GPUs, 1.8 TB/s NVLink each both ways together, 8 x 400 Gbit/s";
  type.gpu = "B200-SXM";
  type.nvlink_generation = 5;
  type.nvlink_bandwidth = 900_GBps;
  type.cpu = "CPU, 8 x DDR5-5600";
  type.cpu_interconnect = 40_GBps;
  return type;
}

HostType dgx_b300() {
  HostType type = dgx_b200();
  type.name = "DGX B300";
  type.source =
      "NVIDIA DGX B300 data sheet: 8 GPUs, 1.8 TB/s NVLink each both ways together, 8 x 800 Gbit/s ConnectX-8, whose "
      "PCIe switch the GPU is on";
  type.gpu = "B300-SXM";
  type.cpu = "CPU, 8 x DDR5-6400";
  type.pcie_generation = 6;
  type.nic = "ConnectX-8";
  type.nic_rate = 800_Gbps;
  return type;
}

HostType hgx_h800() {
  HostType type = dgx_h100();
  type.name = "HGX H800";
  type.source = "H800: as H100 with NVLink cut to 400 GB/s both ways together (DeepSeek-V3 technical report)";
  type.gpu = "H800-SXM5";
  type.nvlinks = 8;
  type.nvlink_bandwidth = 200_GBps;
  return type;
}

HostType gb200_tray() {
  HostType type;
  type.name = "GB200 tray";
  type.source = "NVIDIA GB200 NVL72: 4 GPUs and 2 Grace CPUs a tray, 1.8 TB/s NVLink a GPU both ways together";
  type.gpu = "GB200";
  type.gpus = 4;
  type.nvlink_generation = 5;
  type.nvlinks = 18;
  type.nvlink_bandwidth = 900_GBps;
  type.cpu = "Grace CPU";
  type.cpu_interconnect = 100_GBps;  // assumption: no figure found for the link between a tray's two Grace CPUs
  type.coherent = true;
  type.coherent_bandwidth = 450_GBps;  // NVLink-C2C, 900 GB/s both ways together
  type.nics = 4;
  type.nic_rate = 400_Gbps;
  type.front_rate = 200_Gbps;
  return type;
}

HostType pcie_host() {
  HostType type;
  type.name = "PCIe host";
  type.source = "8 dual-width PCIe 5.0 cards under four switches; no product meant";
  type.gpu = "H100-PCIe";
  type.cpu = "CPU, 8 x DDR5-4800";
  type.cpu_interconnect = 22_GBps;
  type.gpus_per_pcie_switch = 2;
  type.nics = 2;
  type.nic_rate = 400_Gbps;
  type.front_nics = 1;
  type.front_rate = 200_Gbps;
  return type;
}

Host add_host(Assembler& assembler, const HostType& type, const std::string& name, std::optional<VertexId> nvswitch) {
  return HostBuilder(assembler, type, name).build(nvswitch);
}

std::size_t vertices_of(const HostType& type) {
  const int switches =
      type.coherent || type.gpus_per_pcie_switch == 0 ? 0 : ceil_divide(type.gpus, type.gpus_per_pcie_switch);
  const int devices = type.gpus + 1 + type.cpus + switches + type.nics + type.front_nics;
  return static_cast<std::size_t>(devices);
}

std::size_t links_of(const HostType& type) {
  // NVLink and PCIe of each GPU, PCIe and cable of each NIC (two where it is on two planes), switches, CPUs.
  const int more = type.gpus + 2 * type.nics + 2 * type.front_nics + type.cpus;
  return vertices_of(type) + static_cast<std::size_t>(more);
}

}  // namespace trainyard::build
