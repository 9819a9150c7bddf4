// NVIDIA NetQ's topology graph (JSON, as topograph stores it) -> a fabric.
//
//   [{"nodes": [{"compounded_nodes": [{"id", "name", "tier"}]}],
//     "links": [{"compounded_links": [{"interfaces": [{"node", "interface"}, {...}]}]}]}]
//
// A tier of 1, 2, 3 is a leaf, spine or core switch; a lower one a host, each of its interfaces a NIC. Every
// compounded link is one cable. Rates aren't in the file: 10 Gb/s each until --node says what the NICs have.
// Other keys (layout, states) are left out.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster import_netq(std::string_view text, const std::string& where);

}  // namespace trainyard
