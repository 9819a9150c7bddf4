// Links and devices of imported clusters, with the latencies and figures of models/cables.
//
// Make one per import: it reads the two files that are part of the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/cluster/cable_data.h"
#include "core/cluster/link.h"

namespace trainyard {

class Parts {
 public:
  Parts() : cables_(builtin_cables()), devices_(builtin_devices()) {}

  Link pcie(VertexId from, VertexId to, std::int32_t generation, std::int32_t lanes) const;
  Link nvlink(VertexId from, VertexId to, std::int32_t generation, std::int32_t links) const;
  Link socket(VertexId from, VertexId to, BytesPerSecond rate) const;
  // Of a length that isn't known: unknown_cable(). `rate`: of one cable.
  Link cables(VertexId from, VertexId to, BytesPerSecond rate, std::int32_t width) const;

  Seconds nvlink_latency() const { return cables_.buses.nvlink.value; }
  Seconds c2c_latency() const { return cables_.buses.c2c.value; }

  // With the figures of models/cables/devices.json where it has the device; "MQM9790" is a Quantum-2 QM9700.
  DeviceType device(const std::string& name) const;
  // A CPU of a host that has `cpus` of them: a host has at most two sockets, and what is more are NUMA domains that
  // share their memory. Its host memory is unknown where models/cables/devices.json lacks the processor.
  DeviceType processor(const std::string& name, std::string_view vendor, std::int32_t family, std::int32_t model,
                       std::size_t cpus) const;

 private:
  CableTable cables_;
  DeviceTable devices_;
};

// What is assumed of a cable whose type and length no file gives.
constexpr Cable unknown_cable() { return {CableType::kActiveOptical, 10.0}; }
std::string unknown_cable_note();

}  // namespace trainyard
