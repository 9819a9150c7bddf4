// Builders of known fabrics: a name and a few keys give a whole cluster, hosts, back end and front end.
//
//   NAME[:key=value,...]      superpod-h100:su=4      fat-tree:hosts=1024,tiers=3,oversubscription=2
//
// Switch and cable counts follow the published designs where there is one (tests hold them to it); what a builder
// had to assume is in the cluster's notes. An unknown name, key or value is an Error with the nearest known one.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

struct BuilderKey {
  std::string name;
  std::string what;
  std::string fallback;  // the value without the key
};

struct BuilderInfo {
  std::string name;
  std::string what;
  std::vector<BuilderKey> keys;
};

std::vector<BuilderInfo> cluster_builders();

// Whether the words before ':' name a builder.
bool names_builder(const std::string& spec);

Cluster build_cluster(const std::string& spec);

}  // namespace trainyard
