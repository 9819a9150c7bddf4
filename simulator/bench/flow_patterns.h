// Who sends how much to whom, by host number: the flow sets that fabric_bench and simgrid_flows both run.
//
//   ring    every host to the next                               shift   wave w: every host to the one w + 1 on
//   rail    every host to the 8th next: 8 rings side by side     a2aM    every host to M others at once
//   ragged  as rail, sizes between one and two times the bytes, so that each flow ends alone
//   mixM    every host to M others drawn at random, sizes as for ragged: neither paths nor ends are regular
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::simulator {

struct HostFlow {
  unsigned from = 0;
  unsigned to = 0;
  double bytes = 0.0;
};

inline std::vector<HostFlow> flow_pattern(const std::string& pattern, unsigned hosts, unsigned wave, double bytes) {
  std::vector<HostFlow> flows;
  const auto ragged = [bytes](std::uint64_t i) {
    constexpr unsigned kSpread = 1000003;
    return bytes * (1.0 + static_cast<double>((i * 2654435761U) % kSpread) / kSpread);
  };
  const auto add = [&](unsigned from, unsigned distance, double size) {
    flows.push_back({from, (from + distance) % hosts, size});
  };
  const bool all_to_all = pattern.rfind("a2a", 0) == 0;
  const bool mixed = pattern.rfind("mix", 0) == 0;
  const unsigned fan_out = all_to_all || mixed ? static_cast<unsigned>(std::stoul(pattern.substr(3))) : 0;
  for (unsigned i = 0; i < hosts; ++i) {
    if (pattern == "ring") {
      add(i, 1, bytes);
    } else if (pattern == "rail") {
      add(i, 8, bytes);
    } else if (pattern == "ragged") {
      add(i, 8, ragged(i));
    } else if (pattern == "shift") {
      add(i, 1 + wave % (hosts - 1), bytes);
    }
    for (unsigned k = 1; k <= fan_out; ++k) {
      const std::uint64_t draw = (std::uint64_t{i} * fan_out + k) * 0x9E3779B97F4A7C15U;
      add(i, 1 + (mixed ? static_cast<unsigned>(draw >> 33) : k * 977) % (hosts - 1),
          mixed ? ragged(draw >> 40) : bytes);
    }
  }
  return flows;
}

}  // namespace trainyard::simulator
