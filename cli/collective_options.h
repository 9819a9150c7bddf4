// What `trainyard collective` is asked, as its command line says it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/rank_groups.h"
#include "simulator/collective/collective_sweep.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

struct CollectiveOptions {
  std::string cluster;
  std::string node;
  std::string op = "all_reduce";
  std::string ranks;
  std::string sizes = "8B:8GiB";
  std::string type = "float";
  GroupOptions groups;
  std::string algorithm = "auto";
  std::string protocol;
  std::string routing = "auto";
  std::optional<int> seeds;
  int queue_pairs = 1;
  int channels = 2;
  bool endpoint_hash = false;
  bool same_hash = false;
  bool no_pxn = false;
  bool cross_nic = false;
  bool sharp = false;
  bool no_advice = false;
  bool queues = false;
  std::string network = "backend";
  std::vector<std::string> what_if;
  std::vector<std::string> anchors;
  std::string svg;
  std::string csv;
};

void add_options(CLI::App& verb, CollectiveOptions& options);

// Each throws Error naming the flag.
void check_files(const CollectiveOptions& options);
Network parse_network(const std::string& text);
simulator::SweepChoice parse_choice(const CollectiveOptions& options);
std::vector<Bytes> sizes_of(const CollectiveOptions& options);
simulator::CollectiveQuestion question_of(const CollectiveOptions& options, const Cluster& cluster);

}  // namespace trainyard::cli
