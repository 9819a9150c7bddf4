// A Communicator over NCCL, for GPU memory.
//
// Collectives are NCCL's, enqueued on the device's streams; NCCL chooses how they run. Counters say what the plan's
// algorithm puts on the wire (core/program/wire.h), as over Gloo, so that a plan's volumes can be compared; they are no
// measurement of NCCL's own. kDirect has no counterpart: sums are not taken in rank order, so the strict mode's
// bit-equality with accumulation is the CPU's alone. Sums of bf16 are rounded to bf16 at each hop: plans that want fp32
// sums keep fp32 gradients. For the same sums in every run, NCCL_ALGO=Ring (nccl_environment.h).
//
// Chunks of unequal size, which NCCL's reduce-scatter and all-gather don't take, go as one group of reduces or
// broadcasts. Messages between neighbours of a line (join_line) have a communicator per direction; those of other ranks
// share that of all ranks. NCCL has no tags: the sends from one rank to another must be posted in the order of their
// receives.
//
// Memory of use_memory() is registered with all communicators made until then.
//
// A thread polls for errors and for operations that have begun and don't end. On either, and on abort(), all
// communicators are aborted and the device is failed, so that its synchronize() throws; a timeout says which ranks have
// not come.
#pragma once

#include <memory>

#include "executor/communicator/communicator.h"
#include "executor/communicator/nccl/nccl_api.h"
#include "executor/communicator/nccl/nccl_options.h"
#include "executor/device/gpu_streams.h"
#include "executor/supervisor/store.h"

namespace trainyard::executor {

// Blocks until all `size` ranks are connected. With one rank `api` may be null. All references must outlive it, and the
// store be usable from two threads. Destroy it after the streams are empty and, after success, a barrier().
std::unique_ptr<Communicator> make_nccl_communicator(const std::shared_ptr<NcclApi>& api, GpuStreams& streams,
                                                     Store& store, Rank rank, int size, const NcclOptions& options);

// The way back in the same processes: from an aborted communicator to one of those who are not lost, renumbered in
// their order. ncclCommShrink where `failed` was made with keeps_way_back, otherwise the survivors meet anew under the
// options' prefix (lost may then be empty: all come again). All of them call it; streams are those of a device that has
// not failed. Tensors that an aborted operation has touched are to be loaded again. It comes before the failed device's
// memory is freed or its streams are synchronised: an operation on the communicator that was kept spins until then.
std::unique_ptr<Communicator> make_surviving_communicator(Communicator& failed, const std::vector<Rank>& lost,
                                                          GpuStreams& streams, Store& store,
                                                          const NcclOptions& options);

}  // namespace trainyard::executor
