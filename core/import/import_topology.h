// Any topology file that people already have -> Cluster, its kind detected from content.
//
// A result of nccl-tests, an NCCL log and anything else that is no topology is an Error that says what it is and where
// it belongs. Every file is bounded: limits.h.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

// `where` names the text in Errors.
Cluster import_topology(std::string_view text, const std::string& where);
std::string importable_kinds();  // for messages: "NCCL topology XML, hwloc XML, ..."
Cluster read_any_topology(const std::filesystem::path& file);

}  // namespace trainyard
