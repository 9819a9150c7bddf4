// Assembler: a cluster while a builder puts it together, with the figures of cables and devices at hand.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cable_data.h"
#include "core/cluster/cluster.h"

namespace trainyard::build {

// A cable and what it carries; `rate` of one cable, each way.
struct Cabling {
  BytesPerSecond rate;
  Cable cable;
  Network network = Network::kBackend;
};

// Raw rate of PCIe, one way: 1 GB/s a lane in generation 3 (128b/130b coding), doubling; generation 6 codes
// 242 of 256 bytes. Packet headers not taken off.
BytesPerSecond pcie_bandwidth(int generation, int lanes);

class Assembler {
 public:
  explicit Assembler(std::string name);

  Cluster take() { return std::move(cluster_); }
  Cluster& cluster() { return cluster_; }
  void note(std::string text) { cluster_.notes.push_back(std::move(text)); }

  // Of models/cables/devices.json, or a bare name for what has no figures there (GPUs).
  DeviceTypeId device(std::string_view name);
  DeviceTypeId nic_device(std::string_view name, BytesPerSecond port_rate);
  DeviceTypeId bare_device(std::string_view name, std::string_view source);

  // A switch of the fabric; attributes are set on the vertex returned by value before adding.
  VertexId add_switch(VertexKind kind, std::string name, std::string_view device, std::optional<int> pod = {},
                      std::optional<int> rail = {}, std::optional<int> plane = {});

  // `count` cables side by side.
  void connect(VertexId from, VertexId to, const Cabling& cabling, int count = 1);
  void pcie(VertexId from, VertexId to, int generation, int lanes = 16);
  void bus(VertexId from, VertexId to, LinkKind kind, BytesPerSecond rate, std::optional<int> generation, int width);

  // Each lower switch has `uplinks` cables, spread so that every upper switch gets the same number within one.
  // Cable k of lower switch i goes to upper switch (i uplinks + k) mod upper.
  void connect_evenly(std::span<const VertexId> lower, std::span<const VertexId> upper, int uplinks,
                      const Cabling& cabling);

 private:
  Cluster cluster_;
  CableTable cables_;
  DeviceTable devices_;
  std::map<std::string, DeviceTypeId, std::less<>> types_;
};

// name with digits padded, such that all of `count` names sort by number: padded("node", 7, 128) = "node007".
std::string padded(std::string_view name, int index, int count);

// The smallest divisor of n that is at least `least`; n where none is.
int divisor_at_least(int n, int least);

constexpr int ceil_divide(int a, int b) { return (a + b - 1) / b; }

}  // namespace trainyard::build
