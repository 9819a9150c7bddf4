// The environment variables that a run on GPUs sets for its ranks, each with why. One that the user has set stays as it
// is. docs/running-on-gpus.md has the same list in prose.
#pragma once

#include <string>
#include <vector>

namespace trainyard::executor {

struct NcclEnvironmentOptions {
  bool one_host = true;          // all ranks are processes of this host
  bool fixed_order = false;      // sums in the same order in every run: a plan with strict reduction
  bool several_per_gpu = false;  // more ranks than GPUs, for tests: each rank poses as a host of its own
};

struct NcclVariable {
  std::string name;
  std::string value;
  std::string why;
};

std::vector<NcclVariable> nccl_environment(const NcclEnvironmentOptions& options);

// The same as NAME=VALUE, without those that are set in this process's environment.
std::vector<std::string> nccl_assignments(const NcclEnvironmentOptions& options);

}  // namespace trainyard::executor
