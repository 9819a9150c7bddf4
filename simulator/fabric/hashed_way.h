// The way that a hash of the packet header takes (ECMP): at each switch one of the next hops, the same for all packets
// of a flow.
//
//   hash of a flow   mix(mix(seed, NICs), queue pair and channel); without the last where the policy doesn't see them
//   at a switch      the hash, mixed with the switch's number where each hashes differently; hop floor(h n / 2^32) of n
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cluster/cluster.h"
#include "simulator/fabric/flow.h"
#include "simulator/fabric/mix.h"
#include "simulator/fabric/routing.h"

namespace trainyard::simulator {

constexpr std::uint64_t pair_key(std::int32_t a, std::int32_t b) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
}

inline std::uint64_t hash_of(const RoutingPolicy& policy, VertexId exit, VertexId enter, const Flow& flow) {
  return mix(mix(policy.seed, pair_key(exit.value(), enter.value())),
             policy.hash_queue_pair ? pair_key(flow.queue_pair, flow.channel) : 0);
}

inline std::size_t hashed_hop(const RoutingPolicy& policy, std::uint64_t hash, std::size_t hops, VertexId at) {
  const std::uint64_t h = policy.hash_switch ? mix(hash, static_cast<std::uint64_t>(at.value())) : hash;
  return static_cast<std::size_t>(((h >> 32) * hops) >> 32);
}

}  // namespace trainyard::simulator
