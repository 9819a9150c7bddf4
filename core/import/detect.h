// What kind of file a text is, by its content: names and endings of files say little.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard {

enum class TopologyKind : std::uint8_t {
  kTopology,  // our own JSON
  kNcclXml,
  kHwlocXml,
  kNvidiaSmiTopo,
  kIbnetdiscover,
  kSlurm,
  kNetq,
  kTopographYaml,
  kSimai,
  kAstraSim,
  // Known, and no topology:
  kNcclTestsResult,
  kNcclLog,
  kOtherXml,
  kOtherJson,
  kUnknown,
};
constexpr int kTopologyKinds = 10;  // the importable ones

std::string_view to_string(TopologyKind kind);  // "NCCL topology XML", ...

// Looks at the first lines; never throws.
TopologyKind detect_topology(std::string_view text);

}  // namespace trainyard
