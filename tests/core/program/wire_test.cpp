// The closed forms of wire.h against message passing done by hand: every algorithm runs on numbers, its result is
// checked, and what each member sent is counted on the way.
#include "core/program/wire.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace trainyard {
namespace {

using Kind = CommunicationKind;
using Algorithm = CollectiveAlgorithm;
using Boundaries = std::vector<std::int64_t>;
using Tensor = std::vector<std::int64_t>;

// A group whose members hold one tensor each and send ranges of it.
class Members {
 public:
  explicit Members(Boundaries boundaries)
      : bounds(std::move(boundaries)), n(static_cast<int>(bounds.size()) - 1), traffic(static_cast<std::size_t>(n)) {
    for (int i = 0; i < n; ++i) {
      Tensor tensor;
      for (std::int64_t e = 0; e < bounds.back(); ++e) {
        tensor.push_back(1000 * (i + 1) + e);
      }
      tensors.push_back(std::move(tensor));
    }
  }

  // Copies elements [begin, end) to another member, or adds them to what it has.
  void send(int from, int to, std::int64_t begin, std::int64_t end, bool add) {
    if (begin == end) {
      return;
    }
    traffic[at(from)].sent_elements += end - begin;
    ++traffic[at(from)].messages;
    for (auto e = static_cast<std::size_t>(begin); e < static_cast<std::size_t>(end); ++e) {
      tensors[at(to)][e] = tensors[at(from)][e] + (add ? tensors[at(to)][e] : 0);
    }
  }
  void send_chunk(int from, int to, int chunk, bool add) {
    const auto c = at((chunk % n + n) % n);
    send(from, to, bounds[c], bounds[c + 1], add);
  }
  void send_all(int from, int to, bool add) { send(from, to, 0, bounds.back(), add); }

  std::int64_t sum(std::size_t element) const {
    return 1000 * n * (n + 1) / 2 + n * static_cast<std::int64_t>(element);
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  Boundaries bounds;
  int n;
  std::vector<WireTraffic> traffic;
  std::vector<Tensor> tensors;
};

// One round: everybody sends before anybody's receipt is visible, so messages of a round touch different chunks.
void ring_reduce_scatter(Members& group) {
  for (int step = 0; step < group.n - 1; ++step) {
    for (int i = 0; i < group.n; ++i) {
      group.send_chunk(i, (i + 1) % group.n, i - 1 - step, true);
    }
  }
}

void ring_all_gather(Members& group) {
  for (int step = 0; step < group.n - 1; ++step) {
    for (int i = 0; i < group.n; ++i) {
      group.send_chunk(i, (i + 1) % group.n, i - step, false);
    }
  }
}

void tree_broadcast(Members& group, int index) {
  for (const int child : tree_children(index, group.n)) {
    group.send_all(index, child, false);
    tree_broadcast(group, child);
  }
}

void tree_reduce(Members& group, int index) {
  for (const int child : tree_children(index, group.n)) {
    tree_reduce(group, child);
    group.send_all(child, index, true);
  }
}

void expect_traffic(const Members& group, Kind kind, Algorithm algorithm) {
  for (int i = 0; i < group.n; ++i) {
    EXPECT_EQ(wire_traffic(kind, algorithm, group.bounds, i), group.traffic[Members::at(i)])
        << to_string(kind) << " " << to_string(algorithm) << " member " << i << " of " << group.n;
  }
}

void expect_own_chunk_summed(const Members& group) {
  for (int i = 0; i < group.n; ++i) {
    const auto member = Members::at(i);
    for (auto e = static_cast<std::size_t>(group.bounds[member]);
         e < static_cast<std::size_t>(group.bounds[member + 1]); ++e) {
      EXPECT_EQ(group.tensors[member][e], group.sum(e));
    }
  }
}

void expect_all_summed(const Members& group) {
  for (const Tensor& tensor : group.tensors) {
    for (std::size_t e = 0; e < tensor.size(); ++e) {
      EXPECT_EQ(tensor[e], group.sum(e));
    }
  }
}

// Even, uneven, with empty chunks, smaller than the group, empty, and groups of one.
std::vector<Boundaries> splits() {
  std::vector<Boundaries> result = {{0, 0}, {0, 5}, {0, 3, 3, 10}, {0, 0, 7}, {0, 7, 7}, {0, 0, 0, 4, 4}};
  for (int n = 1; n <= 9; ++n) {
    for (const std::int64_t elements : {0, 1, 4, 13, 72}) {
      result.push_back(even_boundaries(elements, n));
    }
  }
  std::mt19937_64 random(1);
  for (int n = 2; n <= 9; ++n) {
    Boundaries uneven = {0};
    for (int i = 0; i < n; ++i) {
      uneven.push_back(uneven.back() + static_cast<std::int64_t>(random() % 4));
    }
    result.push_back(uneven);
  }
  return result;
}

TEST(Wire, AnEvenSplitGivesFloorOrCeiling) {
  EXPECT_EQ(even_boundaries(10, 4), (Boundaries{0, 2, 5, 7, 10}));
  EXPECT_EQ(even_boundaries(2, 3), (Boundaries{0, 0, 1, 2}));
  EXPECT_EQ(even_boundaries(0, 2), (Boundaries{0, 0, 0}));
  for (int n = 1; n < 20; ++n) {
    const Boundaries bounds = even_boundaries(37, n);
    EXPECT_EQ(bounds.back(), 37);
    for (std::size_t i = 1; i < bounds.size(); ++i) {
      EXPECT_GE(bounds[i] - bounds[i - 1], 37 / n);
      EXPECT_LE(bounds[i] - bounds[i - 1], (37 + n - 1) / n);
    }
  }
}

TEST(Wire, RingReduceScatterSendsWhatTheRingDoes) {
  for (const Boundaries& bounds : splits()) {
    Members group(bounds);
    ring_reduce_scatter(group);
    expect_own_chunk_summed(group);
    expect_traffic(group, Kind::kReduceScatter, Algorithm::kRing);
  }
}

TEST(Wire, RingAllReduceSendsReduceScatterThenAllGather) {
  for (const Boundaries& bounds : splits()) {
    Members group(bounds);
    ring_reduce_scatter(group);
    ring_all_gather(group);
    expect_all_summed(group);
    expect_traffic(group, Kind::kAllReduce, Algorithm::kRing);
  }
}

TEST(Wire, RingAllGatherSendsWhatTheRingDoes) {
  for (const Boundaries& bounds : splits()) {
    Members group(bounds);
    const std::vector<Tensor> before = group.tensors;
    ring_all_gather(group);
    for (int owner = 0; owner < group.n; ++owner) {
      const auto o = Members::at(owner);
      for (auto e = static_cast<std::size_t>(bounds[o]); e < static_cast<std::size_t>(bounds[o + 1]); ++e) {
        for (const Tensor& tensor : group.tensors) {
          EXPECT_EQ(tensor[e], before[o][e]);
        }
      }
    }
    expect_traffic(group, Kind::kAllGather, Algorithm::kRing);
  }
}

TEST(Wire, DirectExchangesSendOneMessageToEachOther) {
  for (const Boundaries& bounds : splits()) {
    Members scatter(bounds);
    Members gather(bounds);
    Members reduce(bounds);
    for (int i = 0; i < scatter.n; ++i) {
      for (int j = 0; j < scatter.n; ++j) {
        if (i != j) {
          scatter.send_chunk(i, j, j, true);
          gather.send_chunk(i, j, i, false);
          reduce.send_all(i, j, true);
        }
      }
    }
    expect_traffic(scatter, Kind::kReduceScatter, Algorithm::kDirect);
    expect_traffic(scatter, Kind::kReduceScatter, Algorithm::kRing);  // the same volume by another way
    expect_traffic(scatter, Kind::kAllToAll, Algorithm::kDirect);
    expect_traffic(gather, Kind::kAllGather, Algorithm::kDirect);
    expect_traffic(reduce, Kind::kAllReduce, Algorithm::kDirect);
  }
}

TEST(Wire, TreesReduceToTheRootAndBroadcastBack) {
  for (const Boundaries& bounds : splits()) {
    Members all_reduce(bounds);
    tree_reduce(all_reduce, 0);
    tree_broadcast(all_reduce, 0);
    expect_all_summed(all_reduce);
    expect_traffic(all_reduce, Kind::kAllReduce, Algorithm::kTree);

    Members broadcast(bounds);
    tree_broadcast(broadcast, 0);
    for (const Tensor& tensor : broadcast.tensors) {
      EXPECT_EQ(tensor, broadcast.tensors.front());
    }
    expect_traffic(broadcast, Kind::kBroadcast, Algorithm::kTree);

    Members direct(bounds);
    for (int i = 1; i < direct.n; ++i) {
      direct.send_all(0, i, false);
    }
    expect_traffic(direct, Kind::kBroadcast, Algorithm::kDirect);
  }
}

std::int64_t sent_by_all(Kind kind, Algorithm algorithm, const Boundaries& bounds) {
  std::int64_t sum = 0;
  for (int i = 0; i + 1 < static_cast<int>(bounds.size()); ++i) {
    sum += wire_traffic(kind, algorithm, bounds, i).sent_elements;
  }
  return sum;
}

TEST(Wire, AGroupSendsTheTextbookTotals) {
  // Over all members, however uneven: reduce-scatter and all-gather (n-1) E, ring all-reduce and tree all-reduce
  // 2 (n-1) E, direct all-reduce n (n-1) E, broadcast (n-1) E.
  for (const Boundaries& bounds : splits()) {
    const auto n = static_cast<std::int64_t>(bounds.size()) - 1;
    const std::int64_t once = (n - 1) * bounds.back();
    for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDirect}) {
      EXPECT_EQ(sent_by_all(Kind::kReduceScatter, algorithm, bounds), once);
      EXPECT_EQ(sent_by_all(Kind::kAllGather, algorithm, bounds), once);
    }
    EXPECT_EQ(sent_by_all(Kind::kAllReduce, Algorithm::kRing, bounds), 2 * once);
    EXPECT_EQ(sent_by_all(Kind::kAllReduce, Algorithm::kTree, bounds), 2 * once);
    EXPECT_EQ(sent_by_all(Kind::kAllReduce, Algorithm::kDirect, bounds), n * once);
    EXPECT_EQ(sent_by_all(Kind::kBroadcast, Algorithm::kTree, bounds), once);
    EXPECT_EQ(sent_by_all(Kind::kBroadcast, Algorithm::kDirect, bounds), once);
  }
}

TEST(Wire, AnEvenRingAllReduceSendsTwiceNMinusOneOverN) {
  // E = 96, n = 8: 2 * 7/8 * 96 = 168 elements in 14 messages from each member.
  const Boundaries bounds = even_boundaries(96, 8);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(wire_traffic(Kind::kAllReduce, Algorithm::kRing, bounds, i), (WireTraffic{168, 14}));
  }
}

TEST(Wire, AGroupOfOneSendsNothing) {
  const Boundaries bounds = {0, 100};
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDirect, Algorithm::kTree}) {
    EXPECT_EQ(wire_traffic(Kind::kAllReduce, algorithm, bounds, 0), WireTraffic{});
  }
  EXPECT_EQ(wire_traffic(Kind::kReduceScatter, Algorithm::kRing, bounds, 0), WireTraffic{});
  EXPECT_EQ(wire_traffic(Kind::kAllGather, Algorithm::kRing, bounds, 0), WireTraffic{});
  EXPECT_EQ(wire_traffic(Kind::kAllToAll, Algorithm::kDirect, bounds, 0), WireTraffic{});
  EXPECT_EQ(wire_traffic(Kind::kBroadcast, Algorithm::kTree, bounds, 0), WireTraffic{});
}

TEST(Wire, ASendIsOneMessageAndAReceiveSendsNone) {
  const Boundaries bounds = {0, 100};
  EXPECT_EQ(wire_traffic(Kind::kSend, Algorithm::kRing, bounds, 0), (WireTraffic{100, 1}));
  EXPECT_EQ(wire_traffic(Kind::kRecv, Algorithm::kRing, bounds, 0), WireTraffic{});
}

TEST(Wire, PairsThatDoNotExistAreBugs) {
  const Boundaries bounds = even_boundaries(8, 2);
  EXPECT_DEATH(wire_traffic(Kind::kReduceScatter, Algorithm::kTree, bounds, 0), "ring or direct");
  EXPECT_DEATH(wire_traffic(Kind::kAllGather, Algorithm::kTree, bounds, 0), "ring or direct");
  EXPECT_DEATH(wire_traffic(Kind::kAllToAll, Algorithm::kRing, bounds, 0), "direct");
  EXPECT_DEATH(wire_traffic(Kind::kBroadcast, Algorithm::kRing, bounds, 0), "tree or direct");
  EXPECT_DEATH(wire_traffic(Kind::kAllReduce, Algorithm::kRing, bounds, 2), "member of the group");
}

TEST(Wire, TheTreeOfElevenIsBinomial) {
  // 0: 1 2 4 8;  2: 3;  4: 5 6;  6: 7;  8: 9 10;  10 would have 11, which is not there.
  EXPECT_EQ(tree_children(0, 11), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(tree_children(4, 11), (std::vector<int>{5, 6}));
  EXPECT_EQ(tree_children(8, 11), (std::vector<int>{9, 10}));
  EXPECT_EQ(tree_children(10, 11), (std::vector<int>{}));
  EXPECT_EQ(tree_children(7, 11), (std::vector<int>{}));
  EXPECT_EQ(tree_parent(7), 6);
  EXPECT_EQ(tree_parent(10), 8);
}

TEST(Wire, EveryMemberButTheRootIsTheChildOfItsParent) {
  for (int n = 1; n <= 70; ++n) {
    std::vector<int> parents(static_cast<std::size_t>(n), -1);
    for (int i = 0; i < n; ++i) {
      for (const int child : tree_children(i, n)) {
        EXPECT_EQ(parents[Members::at(child)], -1);
        parents[Members::at(child)] = i;
      }
    }
    for (int i = 1; i < n; ++i) {
      EXPECT_EQ(parents[Members::at(i)], tree_parent(i));
    }
  }
}

}  // namespace
}  // namespace trainyard
