#include "cli/machine_option.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "core/error.h"
#include "core/plan/accelerator.h"

namespace trainyard::cli {

namespace {

std::filesystem::path accelerator_file(const std::filesystem::path& cluster, const std::string& name) {
  const std::filesystem::path beside = cluster.parent_path() / (name + ".json");
  const std::filesystem::path usual = cluster.parent_path() / ".." / "accelerators" / (name + ".json");
  for (const std::filesystem::path& file : {usual, beside}) {
    if (std::filesystem::exists(file)) {
      return file.lexically_normal();
    }
  }
  throw Error("names the accelerator '" + name + "', which has no file", cluster.string(),
              "looked for " + usual.lexically_normal().string() + " and " + beside.lexically_normal().string());
}

}  // namespace

void add_machine_options(CLI::App& verb, MachineOption& option) {
  CLI::Option* profile = verb.add_option("--profile", option.profile, "This machine, as `calibrate` measured it");
  profile->type_name("FILE");
  verb.add_option("--cluster", option.cluster,
                  "Instead of a profile: a cluster from published numbers, as in models/clusters")
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
  Fabric fabric = read_fabric(option.cluster);
  Accelerator accelerator = read_accelerator(accelerator_file(option.cluster, fabric.accelerator));
  return analytic_profile(std::move(accelerator), std::move(fabric));
}

}  // namespace trainyard::cli
