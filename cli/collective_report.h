// What `trainyard collective` found, as a table in nccl-tests' columns, CSV, JSON and a chart.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/text/table.h"
#include "simulator/collective/collective_sweep.h"
#include "simulator/collective/flow_advice.h"

namespace trainyard::cli {

struct DataType {
  std::string name = "float";  // as nccl-tests has it
  int bytes = 4;
};
// Throws Error with the names.
DataType parse_data_type(const std::string& text, const std::string& where);

struct CollectiveReport {
  const Cluster* cluster = nullptr;
  std::string cluster_name;
  simulator::CollectiveOp op = simulator::CollectiveOp::kAllReduce;
  DataType type;
  std::size_t ranks = 0;  // of a group
  std::size_t nodes = 0;
  std::size_t rails = 0;
  std::size_t groups = 1;
  simulator::RoutingKind routing = simulator::RoutingKind::kHash;
  int seeds = 1;
  std::vector<simulator::SweepRow> rows;
  std::string what_if;  // the changes; empty without
  const Cluster* changed_cluster = nullptr;
  std::vector<simulator::SweepRow> changed;
  std::string cut;  // why the changed cluster can't run it; empty if it can
  std::vector<simulator::Advice> advice;
  Bytes advice_size;
  bool with_queues = false;
  std::vector<simulator::PortQueue> queues;  // at the largest size
  std::vector<std::string> notes;
};

std::string headline(const CollectiveReport& report);
std::string placement(const CollectiveReport& report);  // "1016 ranks on 127 nodes, 8 rails, adaptive routing"
Table rows_table(const CollectiveReport& report);
// Where NCCL's default isn't the fastest; empty where it always is.
std::vector<std::string> slower_choices(const CollectiveReport& report);
// What the largest size takes after the change.
std::string what_if_line(const CollectiveReport& report);
// Of the ports that need most.
std::vector<std::string> queue_lines(const CollectiveReport& report);
Table advice_table(const CollectiveReport& report);

nlohmann::ordered_json to_json(const CollectiveReport& report);
std::string to_csv(const CollectiveReport& report);
std::string to_svg(const CollectiveReport& report);

}  // namespace trainyard::cli
