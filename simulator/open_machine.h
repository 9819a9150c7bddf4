// The machine that a word names: a cluster of published numbers, or one given by its graph.
//
//   a file "document": "cluster", or a name of models/clusters    nodes and NICs: no graph
//   a topology file (core/import), or NAME[:key=value,...]        a graph, and what follows from it
#pragma once

#include <optional>
#include <string>

#include "core/cluster/cluster.h"
#include "core/plan/device_profile.h"
#include "simulator/throughput/machine.h"

namespace trainyard::simulator {

// Whether `word` is a fabric's name or a topology file, not a cluster of published numbers.
bool names_topology(const std::string& word);

struct OpenedMachine {
  std::optional<Cluster> cluster;  // the graph
  Machine machine;                 // accelerator and fabric, and the usual software
  DeviceProfile profile;           // of the same two
};

// accelerator: of a graph whose GPUs' names say nothing, a file or a name of models/accelerators; empty: by their name.
// Throws Error for a cluster without GPUs, or an accelerator that no file describes.
OpenedMachine open_graph(const std::string& word, const std::string& accelerator = {});
OpenedMachine open_machine(const std::string& word, const std::string& accelerator = {});

}  // namespace trainyard::simulator
