#include "core/import/parts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/import/bus_rates.h"

namespace trainyard {

namespace {

Link bus(VertexId from, VertexId to, LinkKind kind, BytesPerSecond rate, Seconds latency) {
  return {.from = from,
          .to = to,
          .kind = kind,
          .network = Network::kInternal,
          .bandwidth = rate,
          .reverse_bandwidth = rate,
          .latency = latency};
}

// The name in devices.json of what a file calls by its model number.
std::string_view common_name(std::string_view name) {
  struct Model {
    std::string_view prefix;
    std::string_view name;
  };
  constexpr std::array<Model, 5> kModels = {{{"MQM87", "Quantum QM8790"},
                                             {"MQM97", "Quantum-2 QM9700"},
                                             {"MQM34", "Quantum-3 Q3400"},
                                             {"Q3400", "Quantum-3 Q3400"},
                                             {"ConnectX-6 VF", "ConnectX-6"}}};
  for (const Model& model : kModels) {
    if (name.starts_with(model.prefix)) {
      return model.name;
    }
  }
  return name;
}

}  // namespace

Link Parts::pcie(VertexId from, VertexId to, std::int32_t generation, std::int32_t lanes) const {
  Link link = bus(from, to, LinkKind::kPcie, pcie_rate(generation, lanes), cables_.buses.pcie.value);
  link.generation = generation;
  link.width = lanes;
  return link;
}

Link Parts::nvlink(VertexId from, VertexId to, std::int32_t generation, std::int32_t links) const {
  Link link = bus(from, to, LinkKind::kNvlink, nvlink_rate(generation, links), nvlink_latency());
  link.generation = generation;
  link.width = links;
  return link;
}

Link Parts::socket(VertexId from, VertexId to, BytesPerSecond rate) const {
  return bus(from, to, LinkKind::kCpuInterconnect, rate, cables_.buses.cpu_interconnect.value);
}

Link Parts::cables(VertexId from, VertexId to, BytesPerSecond rate, std::int32_t width) const {
  Link link = bus(from, to, LinkKind::kCable, rate * width, cables_.latency(unknown_cable()));
  link.network = Network::kBackend;
  link.width = width;
  return link;
}

DeviceType Parts::device(const std::string& name) const {
  const std::string_view wanted = common_name(name);
  const auto found = std::find_if(devices_.devices.begin(), devices_.devices.end(),
                                  [wanted](const DeviceFigures& figures) { return figures.type.name == wanted; });
  if (found != devices_.devices.end()) {
    return found->type;
  }
  return {.name = name};
}

DeviceType Parts::processor(const std::string& name, std::string_view vendor, std::int32_t family, std::int32_t model,
                            std::size_t cpus) const {
  DeviceType type = device(name);
  const ProcessorMemory* found = devices_.processor(vendor, family, model);
  if (found == nullptr || type.memory_rate) {
    return type;
  }
  constexpr std::size_t kSockets = 2;
  const std::size_t domains = cpus > kSockets ? (cpus + kSockets - 1) / kSockets : 1;
  type.memory_rate = found->rate / static_cast<double>(domains);
  type.source += (type.source.empty() ? "" : "; ") + found->name + ", memory of a socket: " + found->source;
  if (domains > 1) {
    type.source += ", shared by " + std::to_string(domains) + " NUMA domains";
  }
  return type;
}

std::string unknown_cable_note() {
  return "cable types and lengths aren't in the file: active optical cables of 10 m each";
}

}  // namespace trainyard
