// Bytes on the wire and messages of each collective, per member of the group.
//
// A tensor of E elements is split over n members at boundaries b[0]=0 <= b[1] <= ... <= b[n]=E; member i's
// chunk has c[i] = b[i+1]-b[i] elements. What member i sends, in elements:
//
//   reduce-scatter, ring     all chunks but its own:                 E - c[i]            n-1 messages
//   reduce-scatter, direct   chunk j to member j:                    E - c[i]            n-1 messages
//   all-gather, ring         all chunks but its successor's:         E - c[(i+1) mod n]  n-1 messages
//   all-gather, direct       its own chunk to each other member:     (n-1) c[i]          n-1 messages
//   all-reduce               ring: reduce-scatter, then all-gather; direct: everybody's tensor to everybody
//                            ((n-1) E), summed in index order, so that small tensors take one step
//   all-reduce, tree         binomial reduce to index 0 and broadcast back: E per message
//   broadcast (from 0)       tree: E per message down a binomial tree; direct: index 0 sends to each
//   all-to-all               direct: chunk j to member j:            E - c[i]            n-1 messages
//
//   send                     the whole tensor:                       E                 1 message; recv sends nothing
//
// Empty chunks are not sent and not counted. Other pairs of kind and algorithm don't exist: check(). Textbook volumes
// follow for even splits: 2 (n-1)/n E for the ring all-reduce (Patarasuk and Yuan 2009).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/program/communication.h"

namespace trainyard {

// Boundaries of an even split: member i gets floor or ceil of E/n elements. n+1 values, 0 first, E last.
std::vector<std::int64_t> even_boundaries(std::int64_t elements, int members);

struct WireTraffic {
  std::int64_t sent_elements = 0;
  std::int64_t messages = 0;
  friend bool operator==(const WireTraffic&, const WireTraffic&) = default;
};

// What the member with this index in a group of boundaries.size()-1 members sends.
WireTraffic wire_traffic(CommunicationKind kind, CollectiveAlgorithm algorithm,
                         std::span<const std::int64_t> boundaries, int index);

// Binomial tree rooted at index 0, members 0..n-1: the parent of index i > 0 clears i's lowest set bit; its
// children are i + 2^j for each 2^j below i's lowest set bit (any, for the root) that stay under n.
int tree_parent(int index);
std::vector<int> tree_children(int index, int members);

}  // namespace trainyard
