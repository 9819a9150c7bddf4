#include "core/import/open_cluster.h"

#include <vector>

#include "core/cluster/builder.h"
#include "core/document/nearest_name.h"
#include "core/error.h"
#include "core/import/combine.h"
#include "core/import/import_topology.h"

namespace trainyard {

namespace {

[[noreturn]] void refuse(const std::string& word) {
  std::vector<std::string> names;
  std::string list;
  for (const BuilderInfo& builder : cluster_builders()) {
    names.push_back(builder.name);
    list += (list.empty() ? "" : ", ") + builder.name;
  }
  const auto nearest = nearest_name(word.substr(0, word.find(':')), names);
  throw Error("'" + word + "' is neither a file nor a known fabric", "CLUSTER",
              (nearest ? "did you mean " + *nearest + "? " : std::string()) + "Known fabrics: " + list +
                  ". Files: " + importable_kinds());
}

Cluster open_first(const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored)) {
    return read_any_topology(word);
  }
  if (names_builder(word)) {
    return build_cluster(word);
  }
  refuse(word);
}

}  // namespace

Cluster open_cluster(const std::string& word, const std::optional<std::filesystem::path>& node_file) {
  std::error_code ignored;
  if (node_file && !std::filesystem::exists(word, ignored) && names_builder(word)) {
    throw Error("is for the hosts of a fabric's file, and " + word + " has its own", "--node",
                "leave it out; what the hosts are is among the fabric's keys (trainyard topology --list)");
  }
  Cluster cluster = open_first(word);
  if (!node_file) {
    return cluster;
  }
  return combine(read_any_topology(*node_file), cluster, word + " with --node " + node_file->string());
}

}  // namespace trainyard
