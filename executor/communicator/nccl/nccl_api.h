// NcclApi: the calls of NCCL that we use, so that what is built on them can be tested where no GPU and no NCCL is.
//
// nccl_library.h has the real ones, tests/executor/communicator/fake_nccl.h those over threads and host memory. Names,
// arguments and meaning are NCCL's (https://docs.nvidia.com/deeplearning/nccl, "API"); communicators are made with
// blocking = 0, so that any call on one may return kInProgress and is done when state() no longer does. Sources of the
// rules on order and abort: the same, "Fault Tolerance" and "Group Calls".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/program/data_type.h"

namespace trainyard::executor {

enum class NcclResult : std::uint8_t {
  kSuccess,
  kInProgress,
  kCudaError,
  kSystemError,  // the operating system's, the network's among them
  kInternalError,
  kInvalidArgument,
  kInvalidUsage,
  kRemoteError,  // a peer ended or its connection broke
};
std::string_view to_string(NcclResult result);  // "remote error"

struct NcclComm {
  void* value = nullptr;
  explicit operator bool() const { return value != nullptr; }
  friend bool operator==(const NcclComm&, const NcclComm&) = default;
};

struct NcclUniqueId {
  std::array<char, 128> bytes{};
};

class NcclApi {
 public:
  virtual ~NcclApi() = default;

  virtual int version() = 0;              // major * 10000 + minor * 100 + patch
  virtual std::string where() const = 0;  // the library's file

  virtual NcclResult unique_id(NcclUniqueId& id) = 0;
  virtual NcclResult init(NcclComm& made, int size, const NcclUniqueId& id, int rank) = 0;
  // Called by all ranks of the parent; no colour: in none of the new ones.
  virtual NcclResult split(NcclComm parent, std::optional<int> colour, int key, NcclComm& made) = 0;
  // Called by all ranks of the parent but those left out, whose ranks are closed up. What the parent has under way is
  // ended first; afterwards it can only be aborted. nullopt: the library has no such call.
  virtual std::optional<NcclResult> shrink(NcclComm parent, const std::vector<int>& without, NcclComm& made) = 0;
  virtual NcclResult state(NcclComm comm) = 0;  // ncclCommGetAsyncError
  virtual std::string last_error(NcclComm comm) = 0;
  virtual NcclResult finalize(NcclComm comm) = 0;
  virtual NcclResult destroy(NcclComm comm) = 0;
  virtual NcclResult abort(NcclComm comm) = 0;

  virtual NcclResult group_start() = 0;
  virtual NcclResult group_end() = 0;

  // count in elements; of the whole tensor, but of one member's part in reduce_scatter and all_gather.
  virtual NcclResult all_reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, NcclComm comm,
                                void* stream) = 0;
  virtual NcclResult reduce_scatter(const void* in, void* out, std::size_t count, DataType type, ReduceOp op,
                                    NcclComm comm, void* stream) = 0;
  virtual NcclResult all_gather(const void* in, void* out, std::size_t count, DataType type, NcclComm comm,
                                void* stream) = 0;
  virtual NcclResult broadcast(const void* in, void* out, std::size_t count, DataType type, int root, NcclComm comm,
                               void* stream) = 0;
  virtual NcclResult reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, int root,
                            NcclComm comm, void* stream) = 0;
  virtual NcclResult send(const void* data, std::size_t bytes, int peer, NcclComm comm, void* stream) = 0;
  virtual NcclResult recv(void* data, std::size_t bytes, int peer, NcclComm comm, void* stream) = 0;

  // Of memory that collectives use, so that network and switches reach it without a copy; `handle` is for unregister.
  virtual NcclResult register_memory(NcclComm comm, void* data, std::size_t bytes, void*& handle) = 0;
  virtual NcclResult unregister_memory(NcclComm comm, void* handle) = 0;
};

}  // namespace trainyard::executor
