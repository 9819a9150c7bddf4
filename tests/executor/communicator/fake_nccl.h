// FakeNccl: NCCL among threads of one process, over host memory and HostGpuStreams.
//
// It keeps NCCL's rules where they can hurt: communicators are nonblocking (made, split and first used in the
// background of state()); operations on one communicator run one after the other whatever their streams; a send ends
// when it is received; what members post must agree; a kernel whose peer is gone spins until it is aborted. What would
// be undefined in NCCL is noted as a violation: two threads inside at once, an aborted communicator used again, an
// abort outside a group, members that post different operations, an operation that lies in registered memory with a
// part of itself, memory that is freed, or its communicator destroyed, before it is unregistered.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executor/communicator/nccl/nccl_api.h"

namespace trainyard::executor {

class FakeNcclWorld;  // what the ranks share
std::shared_ptr<FakeNcclWorld> make_fake_nccl_world();

// For one rank.
std::shared_ptr<NcclApi> make_fake_nccl(std::shared_ptr<FakeNcclWorld> world, int version = 22809, bool shrinks = true);

// Of all operations' operands, bytes that lay in memory registered with their communicator, and others.
struct RegisteredTraffic {
  std::int64_t registered = 0;
  std::int64_t others = 0;
};
RegisteredTraffic registered_traffic(FakeNcclWorld& world);

std::vector<std::string> violations(FakeNcclWorld& world);
// Communicators made and neither destroyed nor aborted.
int living_communicators(FakeNcclWorld& world);

}  // namespace trainyard::executor
