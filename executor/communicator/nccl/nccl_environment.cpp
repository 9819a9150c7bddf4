#include "executor/communicator/nccl/nccl_environment.h"

#include <cstdlib>

namespace trainyard::executor {

std::vector<NcclVariable> nccl_environment(const NcclEnvironmentOptions& options) {
  std::vector<NcclVariable> variables{
      {"NCCL_DEBUG", "WARN", "NCCL's own reason for a failure, on the rank's standard error"},
      {"NCCL_LAUNCH_ORDER_IMPLICIT", "1",
       "collectives of different groups start in the order posted, so that none can take the place another waits for"},
      {"CUDA_DEVICE_MAX_CONNECTIONS", "32",
       "a hardware queue for each stream: a receive that waits for its peer holds up no other stream"}};
  if (options.one_host) {
    variables.push_back({"NCCL_SOCKET_IFNAME", "lo", "ranks of one host meet without its network"});
  }
  if (options.fixed_order) {
    variables.push_back({"NCCL_ALGO", "Ring", "sums in the same order in every run; larger groups get slower"});
  }
  if (options.several_per_gpu) {
    variables.push_back({"NCCL_NET", "Socket", "ranks that share a GPU can't reach each other's memory through it"});
    variables.push_back({"NCCL_IB_DISABLE", "1", "the same"});
  }
  return variables;
}

std::vector<std::string> nccl_assignments(const NcclEnvironmentOptions& options) {
  std::vector<std::string> assignments;
  for (const NcclVariable& variable : nccl_environment(options)) {
    if (std::getenv(variable.name.c_str()) == nullptr) {
      assignments.push_back(variable.name + "=" + variable.value);
    }
  }
  return assignments;
}

}  // namespace trainyard::executor
