// Host types, each described once, and how one is put into a cluster.
//
// Rail i is the i-th back-end NIC. All NVSwitches of a host are one vertex: every GPU has the same links to each
// of them, so shares and cuts are those of the sum; losing one of n is the link at (n-1)/n of its bandwidth.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/build/assembler.h"

namespace trainyard::build {

struct HostType {
  std::string name;
  std::string source;
  std::string gpu;
  int gpus = 8;
  int nvlink_generation = 0;        // 0: no NVLink
  int nvlinks = 0;                  // of a GPU
  BytesPerSecond nvlink_bandwidth;  // of a GPU, one way, all links
  std::string cpu = "CPU";
  int cpus = 2;
  BytesPerSecond cpu_interconnect;  // one way
  bool coherent = false;            // GPUs on NVLink-C2C to their CPU, NICs on the CPU's PCIe
  BytesPerSecond coherent_bandwidth;
  int pcie_generation = 5;
  int gpus_per_pcie_switch = 1;  // with their NICs; 0: everything on the CPU's root
  std::string nic = "ConnectX-7";
  int nics = 8;
  BytesPerSecond nic_rate;
  std::string front_nic = "BlueField-3";
  int front_nics = 2;
  BytesPerSecond front_rate;
};

HostType dgx_a100();
HostType dgx_h100();
HostType dgx_b200();
HostType dgx_b300();
HostType hgx_h800();
HostType gb200_tray();  // 4 GPUs and 2 Grace CPUs; its NVSwitches are in the rack
HostType pcie_host();   // GPUs without NVLink

struct Host {
  NodeId node;
  std::vector<VertexId> gpus;
  std::vector<VertexId> nics;  // by rail
  std::vector<VertexId> front_nics;
};

// `nvswitch`: of the rack, where the GPUs aren't joined inside the host.
Host add_host(Assembler& assembler, const HostType& type, const std::string& name,
              std::optional<VertexId> nvswitch = {});

// Devices and links of a host, to reserve room.
std::size_t vertices_of(const HostType& type);
std::size_t links_of(const HostType& type);

}  // namespace trainyard::build
