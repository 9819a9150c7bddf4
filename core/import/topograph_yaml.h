// topograph's cluster models (YAML): switches by name, blocks of hosts below them -> a fabric of hosts.
//
//   switches: {core: {switches: [spine-1, ...]}, ...}
//   blocks: [{switch: leaf-1, nodes: ["srv[01-08]"], annotations: {".../domain": nvl-1}}]
//
// A switch named by a block or below another needs no entry of its own. Hosts of one accelerator domain (an
// annotation whose key ends in "/domain") are said in the notes; labels are for schedulers and left out. Rates and
// cables: switch_tree.h. Source: NVIDIA/topograph, tests/models.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster import_topograph_yaml(std::string_view text, const std::string& where);

}  // namespace trainyard
