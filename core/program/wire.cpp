#include "core/program/wire.h"

#include "core/error.h"

namespace trainyard {

namespace {

// A split tensor, seen from one member of the group.
class Split {
 public:
  Split(std::span<const std::int64_t> boundaries, int index) : boundaries_(boundaries), index_(index) {
    check(boundaries.size() >= 2 && boundaries.front() == 0, "boundaries from 0 to the tensor's size");
    check(index >= 0 && index < members(), "member of the group");
  }

  int members() const { return static_cast<int>(boundaries_.size()) - 1; }
  int index() const { return index_; }
  std::int64_t elements() const { return boundaries_.back(); }
  std::int64_t chunk(int member) const {
    const auto i = static_cast<std::size_t>(member);
    return boundaries_[i + 1] - boundaries_[i];
  }
  int successor() const { return (index_ + 1) % members(); }

  // Every chunk but `left_out`, each as a message; empty chunks are not sent.
  WireTraffic all_chunks_but(int left_out) const {
    WireTraffic traffic;
    for (int member = 0; member < members(); ++member) {
      check(chunk(member) >= 0, "boundaries ascend");
      if (member != left_out && chunk(member) > 0) {
        traffic.sent_elements += chunk(member);
        ++traffic.messages;
      }
    }
    return traffic;
  }

 private:
  std::span<const std::int64_t> boundaries_;
  int index_;
};

// `times` messages of `elements` each, none when there is nothing to send.
WireTraffic repeated(std::int64_t elements, std::int64_t times) {
  return elements > 0 ? WireTraffic{elements * times, times} : WireTraffic{};
}

WireTraffic operator+(const WireTraffic& a, const WireTraffic& b) {
  return {a.sent_elements + b.sent_elements, a.messages + b.messages};
}

std::int64_t child_count(const Split& split) {
  return static_cast<std::int64_t>(tree_children(split.index(), split.members()).size());
}

WireTraffic all_reduce(CollectiveAlgorithm algorithm, const Split& split) {
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      return split.all_chunks_but(split.index()) + split.all_chunks_but(split.successor());
    case CollectiveAlgorithm::kDirect:
      return repeated(split.elements(), split.members() - 1);
    case CollectiveAlgorithm::kTree:
      return repeated(split.elements(), child_count(split) + (split.index() > 0 ? 1 : 0));
  }
  return {};
}

WireTraffic all_gather(CollectiveAlgorithm algorithm, const Split& split) {
  check(algorithm != CollectiveAlgorithm::kTree, "all-gather runs as ring or direct");
  return algorithm == CollectiveAlgorithm::kRing ? split.all_chunks_but(split.successor())
                                                 : repeated(split.chunk(split.index()), split.members() - 1);
}

WireTraffic broadcast(CollectiveAlgorithm algorithm, const Split& split) {
  check(algorithm != CollectiveAlgorithm::kRing, "broadcast runs as tree or direct");
  if (algorithm == CollectiveAlgorithm::kTree) {
    return repeated(split.elements(), child_count(split));
  }
  return split.index() == 0 ? repeated(split.elements(), split.members() - 1) : WireTraffic{};
}

}  // namespace

std::vector<std::int64_t> even_boundaries(std::int64_t elements, int members) {
  check(elements >= 0 && members >= 1, "a split of a tensor over a group");
  std::vector<std::int64_t> boundaries;
  boundaries.reserve(static_cast<std::size_t>(members) + 1);
  for (std::int64_t i = 0; i <= members; ++i) {
    boundaries.push_back(i * elements / members);
  }
  return boundaries;
}

WireTraffic wire_traffic(CommunicationKind kind, CollectiveAlgorithm algorithm,
                         std::span<const std::int64_t> boundaries, int index) {
  const Split split(boundaries, index);
  switch (kind) {
    case CommunicationKind::kAllReduce:
      return all_reduce(algorithm, split);
    case CommunicationKind::kReduceScatter:
      check(algorithm != CollectiveAlgorithm::kTree, "reduce-scatter runs as ring or direct");
      return split.all_chunks_but(index);
    case CommunicationKind::kAllGather:
      return all_gather(algorithm, split);
    case CommunicationKind::kAllToAll:
      check(algorithm == CollectiveAlgorithm::kDirect, "all-to-all runs as direct");
      return split.all_chunks_but(index);
    case CommunicationKind::kBroadcast:
      return broadcast(algorithm, split);
    case CommunicationKind::kSend:
      return repeated(split.elements(), 1);
    case CommunicationKind::kRecv:
      return {};
  }
  return {};
}

int tree_parent(int index) {
  check(index > 0, "the root has no parent");
  return index & (index - 1);
}

std::vector<int> tree_children(int index, int members) {
  check(index >= 0 && index < members, "member of the group");
  std::vector<int> children;
  for (std::int64_t step = 1; index + step < members && (index & step) == 0; step *= 2) {
    children.push_back(static_cast<int>(index + step));
  }
  return children;
}

}  // namespace trainyard
