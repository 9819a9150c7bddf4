#include "simulator/open_machine.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/cluster/builder.h"
#include "core/document/read_file.h"
#include "core/error.h"
#include "core/import/open_cluster.h"
#include "core/plan/shipped.h"
#include "simulator/cluster_machine.h"

namespace trainyard::simulator {

bool names_topology(const std::string& word) {
  std::error_code ignored;
  if (word.empty()) {
    return false;
  }
  if (!std::filesystem::is_regular_file(word, ignored)) {
    return names_builder(word);
  }
  const nlohmann::json document = nlohmann::json::parse(read_text_file(word), nullptr, false);
  return !document.is_object() || document.value("document", "") != "cluster";
}

OpenedMachine open_graph(const std::string& word, const std::string& accelerator) {
  OpenedMachine opened;
  opened.cluster = open_cluster(word);
  Fabric fabric = fabric_of(*opened.cluster, accelerator);
  opened.machine.accelerator = open_accelerator(fabric.accelerator);
  opened.machine.fabric = std::move(fabric);
  opened.machine.stack = usual_stack(opened.machine.accelerator);
  opened.profile = analytic_profile(opened.machine.accelerator, opened.machine.fabric);
  return opened;
}

OpenedMachine open_machine(const std::string& word, const std::string& accelerator) {
  if (names_topology(word)) {
    return open_graph(word, accelerator);
  }
  if (!accelerator.empty()) {
    throw Error("is for fabrics and topology files; this machine names its own", "--accelerator", "leave it out");
  }
  OpenedMachine opened;
  opened.machine.fabric = open_fabric(word);
  opened.machine.accelerator = open_accelerator(opened.machine.fabric.accelerator, word);
  opened.machine.stack = usual_stack(opened.machine.accelerator);
  opened.profile = analytic_profile(opened.machine.accelerator, opened.machine.fabric);
  return opened;
}

}  // namespace trainyard::simulator
