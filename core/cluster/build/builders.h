// Every builder: what it is called, its keys, and the function that builds.
#pragma once

#include <vector>

#include "core/cluster/build/build_options.h"
#include "core/cluster/builder.h"

namespace trainyard::build {

struct Builder {
  BuilderInfo info;
  Cluster (*build)(const BuildOptions& options);
};

std::vector<Builder> superpod_builders();    // NVIDIA DGX SuperPOD, four generations
std::vector<Builder> production_builders();  // Llama 3, HPN, MegaScale, DeepSeek, NVL72
std::vector<Builder> generic_builders();     // fat tree, rail-only, torus, dragonfly
std::vector<Builder> single_builders();      // one machine

}  // namespace trainyard::build
