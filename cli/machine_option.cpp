#include "cli/machine_option.h"

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "core/plan/shipped.h"

namespace trainyard::cli {

void add_machine_options(CLI::App& verb, MachineOption& option) {
  CLI::Option* profile = verb.add_option("--profile", option.profile, "This machine, as `calibrate` measured it");
  profile->type_name("FILE");
  verb.add_option("--cluster", option.cluster,
                  "Instead of a profile: a cluster from published numbers, a file or a name of models/clusters")
      ->type_name("FILE")
      ->excludes(profile);
}

DeviceProfile read_machine_option(const MachineOption& option) {
  if (!option.profile.empty()) {
    return read_device_profile(option.profile);
  }
  if (option.cluster.empty()) {
    throw Error("which machine?", "--profile",
                "give --profile PROFILE.json (from `trainyard calibrate`) or --cluster CLUSTER.json");
  }
  Fabric fabric = open_fabric(option.cluster);
  Accelerator accelerator = open_accelerator(fabric.accelerator, option.cluster);
  return analytic_profile(std::move(accelerator), std::move(fabric));
}

}  // namespace trainyard::cli
