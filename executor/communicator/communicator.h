// Communicator: moves tensors between ranks. Collectives are posted to a device stream and run in its order.
//
// Every member of a group posts the same collectives on the group in the same order. Sums (or maxima) are taken in the
// type that the call says; bf16 is sent as bf16 and added in fp32, rounded where it is stored: once with kDirect, at
// each hop around a ring. Memory is the device's and must stay valid until the work
// has run. Errors surface where the device's do: at synchronize().
//
// abort() releases every rank-local wait, from any thread, within a few milliseconds; after it every call
// fails. A peer that dies surfaces as an exception on its direct neighbours and as abort() on the others,
// which the launcher or a watcher calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/program/communication.h"
#include "core/program/instruction.h"
#include "core/units/index.h"

namespace trainyard::executor {

// Counted at the posted send, by code that cannot see the program. Indexed by CommunicationKind.
struct CommunicatorCounters {
  std::vector<ByteCount> sent = std::vector<ByteCount>(kCommunicationKinds);
  std::vector<std::int64_t> messages = std::vector<std::int64_t>(kCommunicationKinds);
};

// A group this rank belongs to, made once; `key` is the same on all members and unlike that of any other
// group that shares two of them.
struct GroupHandle {
  std::vector<Rank> members;
  int index = 0;  // this rank's place in members
  std::uint32_t key = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;

  // Before a group's first collective. All ranks call it together and in the same order, each with its group of one
  // partition of the ranks, or with a group without members where it is in none. Costs nothing over Gloo.
  virtual void join(const GroupHandle& group) = 0;
  // The same before the first messages between neighbours of a line, such as the stages of a pipeline.
  virtual void join_line(const GroupHandle& line) = 0;

  // All of `data` on every member afterwards, in place. boundaries cut data into a chunk per member
  // (wire.h); they matter to kRing only.
  virtual void all_reduce(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                          std::span<const std::int64_t> boundaries, DataType type, ReduceOp op) = 0;
  // In place: afterwards this member's chunk holds the sum; the rest of data is undefined.
  virtual void reduce_scatter(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                              std::span<const std::int64_t> boundaries, DataType type) = 0;
  // In place: each member's chunk is spread to all.
  virtual void all_gather(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                          std::span<const std::int64_t> boundaries, DataType type) = 0;
  // From member 0.
  virtual void broadcast(Stream stream, const GroupHandle& group, CollectiveAlgorithm algorithm, void* data,
                         std::int64_t elements, DataType type) = 0;
  // Chunk j of `in` to member j; out receives member j's chunk for us at j. Sizes in boundaries of each.
  virtual void all_to_all(Stream stream, const GroupHandle& group, const void* in,
                          std::span<const std::int64_t> in_boundaries, void* out,
                          std::span<const std::int64_t> out_boundaries, DataType type) = 0;
  // `tag` pairs a send with its receive; the same tag may be in flight once per pair of ranks.
  virtual void send(Stream stream, Rank to, std::uint64_t tag, const void* data, ByteCount bytes) = 0;
  virtual void recv(Stream stream, Rank from, std::uint64_t tag, void* data, ByteCount bytes) = 0;
  // Blocks the calling thread until every rank has come; not counted.
  virtual void barrier() = 0;

  // Messages will lie in this memory until forget_memory(): what the transport can register, it need not copy. After
  // join(), and forgotten before it is freed, with no operation on it under way. Costs nothing over Gloo.
  virtual void use_memory(void* data, ByteCount bytes) = 0;
  virtual void forget_memory(void* data) = 0;

  virtual void abort(const std::string& why) = 0;
  virtual bool waiting() const = 0;  // a call waits for another rank at this moment; from any thread
  virtual CommunicatorCounters counters() const = 0;
};

}  // namespace trainyard::executor
