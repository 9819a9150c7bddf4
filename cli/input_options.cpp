#include "cli/input_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/topology_option.h"
#include "core/error.h"
#include "core/import/open_cluster.h"
#include "core/units/parse_quantity.h"
#include "simulator/failure/failure_profile.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/failure/plan_checkpoint.h"

namespace trainyard::cli {

namespace {

constexpr const char* kUsualStorage = "llama3-h100";

template <class Q>
Q given_or(const std::string& text, const std::string& flag, Q otherwise) {
  if (text.empty()) {
    return otherwise;
  }
  const auto value = parse_quantity<Q>(text, flag);
  if (!(value > Q())) {
    throw Error("must be above 0", flag, "leave it out for the usual value");
  }
  return value;
}

}  // namespace

std::string InputOptions::first_flag() const {
  return !sample_bytes.empty()   ? "--sample-bytes"
         : !storage_rate.empty() ? "--storage-rate"
         : !node_rate.empty()    ? "--node-rate"
                                 : "";
}

void add_input_options(CLI::App& verb, InputOptions& options, const std::string& group) {
  verb.add_option("--sample-bytes", options.sample_bytes,
                  "What a sequence's data takes to read, such as \"12 MB\" of images (default: 4 B a token)")
      ->type_name("SIZE")
      ->group(group);
  verb.add_option(
          "--storage-rate", options.storage_rate,
          "What storage gives and takes of all nodes together (default: the graph's, else 100 GB/s, llama3-h100's)")
      ->type_name("RATE")
      ->group(group);
  verb.add_option("--node-rate", options.node_rate,
                  "Of a node's front-end NICs (default: the graph's, else 200 Gbit/s)")
      ->type_name("RATE")
      ->group(group);
}

simulator::InputFeed input_feed(const InputOptions& options, const FedJob& job) {
  const simulator::PublishedStorage storage = simulator::open_failure_profile(kUsualStorage).storage;
  const bool asked = !options.first_flag().empty();
  const simulator::FrontEnd graph =
      asked && names_topology(job.cluster) ? simulator::front_end(open_cluster(job.cluster)) : simulator::FrontEnd();
  const auto or_usual = [](BytesPerSecond found, BytesPerSecond usual) {
    return found > BytesPerSecond() ? found : usual;
  };
  simulator::InputFeed feed;
  feed.sample = given_or(options.sample_bytes, "--sample-bytes",
                         static_cast<double>(job.training.sequence) * simulator::kBytesOfToken);
  feed.node = given_or(options.node_rate, "--node-rate", or_usual(graph.node, storage.node.value));
  feed.storage = given_or(options.storage_rate, "--storage-rate", or_usual(graph.storage, storage.read.value));
  feed.ranks_per_node = std::max<std::int64_t>(1, job.fabric.ranks_per_node.value);
  if (job.checkpoint_every) {
    const Bytes state = simulator::checkpoint_size(job.model, job.layout, job.training.optimizer).state;
    const double nodes = static_cast<double>(std::max<std::int64_t>(1, job.ranks / feed.ranks_per_node));
    const BytesPerSecond taken =
        given_or(options.storage_rate, "--storage-rate", or_usual(graph.storage, storage.write.value));
    feed.write = max(state / taken, state / nodes / feed.node);
    feed.steps_between_writes = *job.checkpoint_every;
  }
  return feed;
}

simulator::InputFeed input_feed(const InputOptions& options, const Plan& plan, const Fabric& fabric,
                                const std::string& cluster) {
  return input_feed(options, {.model = plan.model,
                              .training = plan.training,
                              .layout = plan.layout,
                              .fabric = fabric,
                              .ranks = plan.layout.ranks(),
                              .cluster = cluster,
                              .checkpoint_every = plan.checkpoint.every_steps});
}

}  // namespace trainyard::cli
