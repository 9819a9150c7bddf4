// The CLUSTER of a command line -> Cluster.
//
//   a file that exists      its kind is detected from content (import_topology.h)
//   NAME[:key=value,...]    a builder of a known fabric (core/cluster/builder.h)
//
// With a node file, the hosts of the fabric get its inside (combine.h). Anything else is an Error that lists the
// builders and the kinds of files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster open_cluster(const std::string& word, const std::optional<std::filesystem::path>& node_file = std::nullopt);

}  // namespace trainyard
