// Communication: what an instruction moves between ranks, and exactly how much of it crosses the wire.
//
// `payload` is the logical tensor (nccl-tests' "size"); `sent` and `messages` are what this rank posts,
// which depends on the algorithm (see wire.h) and is compared with the communicator's counters as integers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/program/data_type.h"
#include "core/units/count.h"
#include "core/units/index.h"

namespace trainyard {

enum class CommunicationKind : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kBroadcast,
  kSend,
  kRecv,
};
constexpr int kCommunicationKinds = 7;
std::string_view to_string(CommunicationKind kind);  // "all_reduce", ...

enum class CollectiveAlgorithm : std::uint8_t {
  kRing,    // n-1 steps around the ring for reduce-scatter or all-gather, both for all-reduce
  kDirect,  // every rank exchanges with every other and sums in rank order: fixed order, n-1 messages
  kTree,    // binomial reduce to index 0, binomial broadcast back: 2 log2 n steps, for small payloads
};
std::string_view to_string(CollectiveAlgorithm algorithm);

// How well the size is known before the step runs. Dropless mixture-of-experts is bounded.
struct Extent {
  bool exact = true;
  ByteCount expected;  // equals the payload when exact
  ByteCount maximum;
};

struct Communication {
  CommunicationKind kind = CommunicationKind::kAllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  GroupId group;  // which of the role's groups; for kSend and kRecv the pipeline group
  // kSend and kRecv: the other side's place in the pipeline group. kSend without one: every member of the group sends
  // to the next of it, and gets what the previous one sends (a ring of blocks).
  std::optional<int> peer_stage;
  // kSend and kRecv: pairs the two sides; once per step and pair of ranks.
  std::uint64_t tag = 0;
  std::int64_t elements = 0;                  // of the whole tensor, before any split over the group
  std::optional<BucketId> partition;          // split over the group as that bucket is; otherwise evenly, see wire.h
  DataType type = DataType::kFp32;            // on the wire
  DataType reduction_type = DataType::kFp32;  // of the sums
  ReduceOp op = ReduceOp::kSum;
  ByteCount payload;
  // By this rank; under kTree, whose members differ, the group's mean rounded up.
  ByteCount sent;
  std::int64_t messages = 0;
  Extent extent;
};

}  // namespace trainyard
