#include "executor/run/rank_backend.h"

#include <cstdlib>
#include <vector>

#include "core/error.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/communicator/nccl/nccl_communicator.h"
#include "executor/communicator/nccl/nccl_environment.h"
#include "executor/communicator/nccl/nccl_library.h"
#include "executor/device/cpu_device.h"
#include "executor/device/cuda_module.h"
#include "executor/device/gpu_streams.h"
#include "executor/supervisor/rank_hosts.h"

namespace trainyard::executor {

namespace {

// NCCL refuses two ranks of one host on one GPU, so each poses as a host of its own. Before the first thread.
void pose_as_host(int rank) { ::setenv("NCCL_HOSTID", ("trainyard-rank-" + std::to_string(rank)).c_str(), 0); }

std::unique_ptr<Device> make_device(const RankEnvironment& environment, const BackendOptions& options) {
  if (options.choice.kind == DeviceKind::kCpu) {
    return make_cpu_device({.threads = options.threads, .on_failure = options.on_failure});
  }
  if (options.choice.ranks_per_gpu > 1) {
    pose_as_host(environment.rank);
  }
  return make_cuda_device(
      {.ordinal = gpu_of(options.choice, environment.local_rank), .on_failure = options.on_failure});
}

std::unique_ptr<Communicator> make_communicator(Device& device, Store& store, const RankEnvironment& environment,
                                                const BackendOptions& options) {
  const Rank rank(environment.rank);
  if (options.choice.kind == DeviceKind::kCpu) {
    GlooOptions gloo;
    gloo.prefix = environment.prefix;
    gloo.hostname = address_towards(environment.store.host);
    gloo.timeout = options.timeout;
    return make_gloo_communicator(device, store, rank, environment.size, gloo);
  }
  auto* streams = dynamic_cast<GpuStreams*>(&device);
  check(streams != nullptr, "a GPU's device gives its streams away");
  NcclOptions nccl;
  nccl.prefix = environment.prefix;
  nccl.timeout = options.timeout;
  return make_nccl_communicator(environment.size > 1 ? open_nccl() : nullptr, *streams, store, rank, environment.size,
                                nccl);
}

}  // namespace

RankBackend::RankBackend(const RankEnvironment& environment, const BackendOptions& options)
    : store_(environment.store),
      device_(make_device(environment, options)),
      communicator_(make_communicator(*device_, store_, environment, options)) {}

std::vector<std::string> backend_environment(const DeviceChoice& choice, bool fixed_order, bool one_host) {
  // Kernels thread over our own pool; a BLAS with threads of its own would fight it for the cores.
  std::vector<std::string> environment{"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1"};
  if (choice.kind == DeviceKind::kCuda) {
    const std::vector<std::string> nccl = nccl_assignments(
        {.one_host = one_host, .fixed_order = fixed_order, .several_per_gpu = choice.ranks_per_gpu > 1});
    environment.insert(environment.end(), nccl.begin(), nccl.end());
  }
  return environment;
}

}  // namespace trainyard::executor
