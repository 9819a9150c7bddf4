#include "core/cluster/build/assembler.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace trainyard::build {

BytesPerSecond pcie_bandwidth(int generation, int lanes) {
  // Transfers per second a lane: 8 G in generation 3, then doubling; before it 2.5 and 5 G with 8b/10b coding.
  const double transfers = generation >= 3 ? 8e9 * std::exp2(generation - 3) : 2.5e9 * generation;
  const double coding = generation >= 6 ? 242.0 / 256.0 : (generation >= 3 ? 128.0 / 130.0 : 0.8);
  return from_si<BytesPerSecond>(transfers * coding / 8.0 * lanes);
}

Assembler::Assembler(std::string name) : cables_(builtin_cables()), devices_(builtin_devices()) {
  cluster_.name = std::move(name);
}

DeviceTypeId Assembler::device(std::string_view name) {
  const auto known = types_.find(name);
  if (known != types_.end()) {
    return known->second;
  }
  return types_.emplace(std::string(name), cluster_.add_device_type(devices_.find(name))).first->second;
}

DeviceTypeId Assembler::nic_device(std::string_view name, BytesPerSecond port_rate) {
  const std::string key = fmt::format("{} {}", name, port_rate.si());
  const auto known = types_.find(key);
  if (known != types_.end()) {
    return known->second;
  }
  DeviceType type = devices_.find(name);
  type.port_rate = port_rate;
  return types_.emplace(key, cluster_.add_device_type(std::move(type))).first->second;
}

DeviceTypeId Assembler::bare_device(std::string_view name, std::string_view source) {
  const auto known = types_.find(name);
  if (known != types_.end()) {
    return known->second;
  }
  DeviceType type;
  type.name = std::string(name);
  type.source = std::string(source);
  return types_.emplace(type.name, cluster_.add_device_type(type)).first->second;
}

VertexId Assembler::add_switch(VertexKind kind, std::string name, std::string_view type, std::optional<int> pod,
                               std::optional<int> rail, std::optional<int> plane) {
  Vertex vertex;
  vertex.kind = kind;
  vertex.name = std::move(name);
  vertex.type = device(type);
  vertex.pod = pod;
  vertex.rail = rail;
  vertex.plane = plane;
  return cluster_.add_vertex(std::move(vertex));
}

void Assembler::connect(VertexId from, VertexId to, const Cabling& cabling, int count) {
  Link link;
  link.from = from;
  link.to = to;
  link.kind = LinkKind::kCable;
  link.network = cabling.network;
  link.width = count;
  link.bandwidth = link.reverse_bandwidth = cabling.rate * static_cast<double>(count);
  link.latency = cables_.latency(cabling.cable);
  link.cable = cluster_.add_cable(cabling.cable);
  cluster_.add_link(link);
}

void Assembler::pcie(VertexId from, VertexId to, int generation, int lanes) {
  bus(from, to, LinkKind::kPcie, pcie_bandwidth(generation, lanes), generation, lanes);
}

void Assembler::bus(VertexId from, VertexId to, LinkKind kind, BytesPerSecond rate, std::optional<int> generation,
                    int width) {
  Link link;
  link.from = from;
  link.to = to;
  link.kind = kind;
  link.network = Network::kInternal;
  link.generation = generation;
  link.width = width;
  link.bandwidth = link.reverse_bandwidth = rate;
  const BusFigures& buses = cables_.buses;
  link.latency = kind == LinkKind::kPcie              ? buses.pcie.value
                 : kind == LinkKind::kC2c             ? buses.c2c.value
                 : kind == LinkKind::kCpuInterconnect ? buses.cpu_interconnect.value
                                                      : buses.nvlink.value;
  cluster_.add_link(link);
}

void Assembler::connect_evenly(std::span<const VertexId> lower, std::span<const VertexId> upper, int uplinks,
                               const Cabling& cabling) {
  const std::int64_t above = static_cast<std::int64_t>(upper.size());
  std::int64_t next = 0;
  for (const VertexId from : lower) {
    const std::int64_t distinct = std::min<std::int64_t>(uplinks, above);
    for (std::int64_t k = 0; k < distinct; ++k) {
      // Cables k, k + above, k + 2 above, ... go to the same upper switch: one bundle.
      const std::int64_t cables = (uplinks - k + above - 1) / above;
      connect(from, upper[static_cast<std::size_t>((next + k) % above)], cabling, static_cast<int>(cables));
    }
    next += uplinks;
  }
}

std::string padded(std::string_view name, int index, int count) {
  return fmt::format("{}{:0{}}", name, index, fmt::formatted_size("{}", std::max(count - 1, 0)));
}

int divisor_at_least(int n, int least) {
  for (int divisor = std::max(least, 1); divisor < n; ++divisor) {
    if (n % divisor == 0) {
      return divisor;
    }
  }
  return n;
}

}  // namespace trainyard::build
