// The flags that say how training data comes to the ranks of a cluster (simulator/step/input_feed.h).
#pragma once

#include <optional>
#include <string>

#include "core/cluster/cluster.h"
#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/plan/accelerator.h"
#include "core/plan/plan.h"
#include "core/plan/training.h"
#include "simulator/step/input_feed.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

struct InputOptions {
  std::string sample_bytes;
  std::string storage_rate;
  std::string node_rate;

  std::string first_flag() const;  // of those given; empty where none is
};

void add_input_options(CLI::App& verb, InputOptions& options, const std::string& group);

// What trains, on what, and how often it saves.
struct FedJob {
  const ModelSpec& model;
  const Training& training;
  const Layout& layout;  // its types
  const Fabric& fabric;
  std::int64_t ranks = 1;
  std::string cluster;  // whose graph, where there is one, says what the front end gives
  std::optional<std::int64_t> checkpoint_every;
};

// Unsaid rates are those of the graph, where a flag is given (text alone never waits, and a graph takes its time to
// read), else of the usual failure profile's storage. Throws Error for what makes no sense.
simulator::InputFeed input_feed(const InputOptions& options, const FedJob& job);

// Of a plan on this fabric, with its own checkpoints. cluster: as FedJob's.
simulator::InputFeed input_feed(const InputOptions& options, const Plan& plan, const Fabric& fabric,
                                const std::string& cluster);

}  // namespace trainyard::cli
