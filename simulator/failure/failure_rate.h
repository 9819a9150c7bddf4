// FailureRate: how often one of many equal things fails, as people write it: "3.79 per 1000 node-days".
//
//   text = number " per " ["1000 "] thing "-" time     thing  node GPU NIC cable switch rack job
//        | number " FIT per GPU" | number " FIT per GB"    time   hours days weeks months years ("day" alone, too)
//
// FIT: failures in 10^9 device-hours. A month is a twelfth of 365.25 days. Inside: per second of one of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/units/quantity.h"

namespace trainyard::simulator {

// Of which the exposure counts the time.
enum class Exposure : std::uint8_t {
  kNode,
  kGpu,
  kNic,
  kCable,   // between a NIC and its leaf switch
  kSwitch,  // of the first tier
  kRack,
  kJob,       // whatever its size
  kGigabyte,  // 10^9 B of accelerator memory
};
std::string_view to_string(Exposure exposure);  // "node", "GPU", ...

struct FailureRate {
  PerSecond each;
  Exposure of = Exposure::kNode;
};

// Throws Error (where) for a bare number, another unit or a negative rate.
FailureRate parse_failure_rate(std::string_view text, const std::string& where);

}  // namespace trainyard::simulator
