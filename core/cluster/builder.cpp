#include "core/cluster/builder.h"

#include "core/cluster/build/builders.h"
#include "core/document/nearest_name.h"
#include "core/error.h"

namespace trainyard {

namespace {

std::vector<build::Builder> all_builders() {
  std::vector<build::Builder> all;
  for (auto list :
       {build::superpod_builders, build::production_builders, build::generic_builders, build::single_builders}) {
    for (build::Builder& builder : list()) {
      all.push_back(std::move(builder));
    }
  }
  return all;
}

std::string name_of(const std::string& spec) { return spec.substr(0, spec.find(':')); }

}  // namespace

std::vector<BuilderInfo> cluster_builders() {
  std::vector<BuilderInfo> infos;
  for (build::Builder& builder : all_builders()) {
    infos.push_back(std::move(builder.info));
  }
  return infos;
}

bool names_builder(const std::string& spec) {
  const std::string name = name_of(spec);
  for (const build::Builder& builder : all_builders()) {
    if (builder.info.name == name) {
      return true;
    }
  }
  return false;
}

Cluster build_cluster(const std::string& spec) {
  const std::string name = name_of(spec);
  std::vector<std::string> names;
  std::string list;
  for (const build::Builder& builder : all_builders()) {
    if (builder.info.name == name) {
      const std::string keys = spec.size() > name.size() ? spec.substr(name.size() + 1) : "";
      return builder.build(build::BuildOptions(builder.info, keys, spec));
    }
    names.push_back(builder.info.name);
    list += (list.empty() ? "" : ", ") + builder.info.name;
  }
  const std::optional<std::string> nearest = nearest_name(name, names);
  throw Error("no builder is named '" + name + "'", spec,
              (nearest ? "did you mean " + *nearest + "? " : "") + "builders: " + list);
}

}  // namespace trainyard
