// What a collective does (operation), how NCCL moves the data (algorithm) and how it signals (protocol).
//
//   size S       nccl-tests' "size": all-reduce, broadcast, reduce, send: the buffer of one rank; all-gather,
//                reduce-scatter, all-to-all: of all ranks together
//   busbw        S F / t,  F = 2(n-1)/n all-reduce; (n-1)/n all-gather, reduce-scatter, all-to-all; 1 the others
// Source: nccl-tests doc/PERFORMANCE.md; NCCL 2.30 src/include/nccl_common.h (names).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard::simulator {

enum class CollectiveOp : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv,
};
constexpr int kCollectiveOps = 7;

enum class NcclAlgorithm : std::uint8_t {
  kRing,
  kTree,           // double binary tree over the nodes, a chain inside each
  kNvls,           // NVLink SHARP: the NVSwitch reduces and multicasts
  kNvlsTree,       // NVLS inside the nodes, a tree between them
  kCollNetDirect,  // SHARP: the fabric's switches reduce; every GPU talks to its NIC's peers
  kCollNetChain,   // SHARP, with a chain inside the node
  kPat,            // parallel aggregated trees, for all-gather and reduce-scatter at one GPU a node
  kDirect,         // every pair exchanges: all-to-all and send/receive
};
constexpr int kNcclAlgorithms = 8;

enum class NcclProtocol : std::uint8_t {
  kLl,      // 8-byte flags with 4 bytes of data: least latency, at most half the bandwidth
  kLl128,   // 120 of 128 bytes are data
  kSimple,  // bulk chunks with memory fences: all the bandwidth, most latency
};
constexpr int kNcclProtocols = 3;

std::string_view to_string(CollectiveOp op);  // "all_reduce", ...
std::string_view to_string(NcclAlgorithm algorithm);
std::string_view to_string(NcclProtocol protocol);

// "all_reduce", "AllReduce", "all-reduce", "allreduce_perf", "sendrecv", ...; nothing for other words.
std::optional<CollectiveOp> collective_op(std::string_view text);

// F above; n >= 1.
double bus_factor(CollectiveOp op, int ranks);

}  // namespace trainyard::simulator
