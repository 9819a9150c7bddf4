// `ibnetdiscover` -> a fabric (and ibsim's .net files, which are written alike).
//
//   Switch 65 "S-guid" # "name" ...          a switch and its ports
//   Ca     1  "H-guid" # "host mlx5_0"       a host channel adapter; its description names host and NIC
//   [17] "S-guid"[3] # ... 4xNDR             port 17 cabled to port 3; width x lane rate
//
// A cable is listed by both its ends; once is enough. Lane rates in Gb/s: SDR 2, DDR 4, QDR 8, FDR10 10, FDR 13.64,
// EDR 25, HDR 50, NDR 100, XDR 200 (after line coding; InfiniBand Architecture Specification). Adapters whose
// description names no host are ends outside any host; aggregation nodes (SHARP, inside switches) are left out.
// The adapter's number is taken for its rail where each leaf's adapters have one number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster import_ibnetdiscover(std::string_view text, const std::string& where);

// "4xNDR" -> 50 GB/s.
std::optional<BytesPerSecond> infiniband_rate(std::string_view word);

}  // namespace trainyard
