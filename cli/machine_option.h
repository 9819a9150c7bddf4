// Which machine a prediction is for: --profile, a measured machine, or --cluster, published numbers.
#pragma once

#include <string>

#include "core/plan/device_profile.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

struct MachineOption {
  std::string profile;
  std::string cluster;
};

// Adds --profile and --cluster, of which one must be given.
void add_machine_options(CLI::App& verb, MachineOption& option);

// Reads the file, or what is shipped by that name. A cluster names its accelerator, found as NAME.json in the folder
// `accelerators` beside the cluster's folder, or shipped. Throws Error for what is missing or malformed.
DeviceProfile read_machine_option(const MachineOption& option);

}  // namespace trainyard::cli
