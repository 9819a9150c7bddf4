// A Communicator over TCP between processes, for CPU memory.
//
// Gloo (Debian's libgloo) connects the ranks and matches sends with receives by tag; the collectives are
// ours (ring.h, direct.h, tree.h), for Gloo has no reduce-scatter and can't abort its own. Each collective
// blocks its stream and no other. Room for received slices is kept per stream: slice_bytes times a few.
//
// If a rank's operation fails (a lost peer, a timeout), the rank closes its connections, so that those who
// wait for it fail too instead of waiting for their timeout. Errors name the operation, group, and peer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "executor/communicator/communicator.h"
#include "executor/device/device.h"
#include "executor/supervisor/store.h"

namespace trainyard::executor {

struct GlooOptions {
  std::string hostname = "127.0.0.1";  // the address to listen at
  std::string interface;               // a network interface to listen at instead ("eth0")
  std::string prefix;                  // in front of the store's keys: job and generation
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of one wait for a peer
  // Of what is received before it is added; the same on all ranks. CPU time of a 64 MiB ring all-reduce on 2
  // ranks of the 2-core reference machine: 33-38 ms a rank with 512 KiB, 43 in one piece, 69 with 128 KiB.
  std::int64_t slice_bytes = std::int64_t{512} << 10;
};

// Runs a function in a stream's order, as Device::host_function does.
using PostToStream = std::function<void(Stream, std::function<void()>)>;

// Blocks until all `size` ranks have come to the store and are connected. Destroy the communicator after
// the streams are empty, and after a barrier() if the peers may still be receiving. Where SIGPIPE still ends
// the process, it is set to be ignored: a peer's death must be an Error here.
std::unique_ptr<Communicator> make_gloo_communicator(PostToStream post, Store& store, Rank rank, int size,
                                                     const GlooOptions& options);
std::unique_ptr<Communicator> make_gloo_communicator(Device& device, Store& store, Rank rank, int size,
                                                     const GlooOptions& options);

}  // namespace trainyard::executor
