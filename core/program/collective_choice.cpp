#include <algorithm>

#include "core/error.h"
#include "core/program/stage_generator.h"
#include "core/program/wire.h"

namespace trainyard {

namespace {
// Below this a collective is all latency: one exchange with everybody beats 2 (n-1) steps around the ring.
constexpr std::int64_t kSmallPayload = 16 << 10;
constexpr int kSmallGroup = 64;
}  // namespace

CollectiveAlgorithm choose_algorithm(CommunicationKind kind, std::int64_t bytes, int group_size, bool strict) {
  if (strict || group_size == 2 || kind == CommunicationKind::kAllToAll) {
    return CollectiveAlgorithm::kDirect;
  }
  if (bytes <= kSmallPayload) {
    if (group_size <= kSmallGroup) {
      return CollectiveAlgorithm::kDirect;
    }
    if (kind == CommunicationKind::kAllReduce || kind == CommunicationKind::kBroadcast) {
      return CollectiveAlgorithm::kTree;
    }
  }
  return kind == CommunicationKind::kBroadcast ? CollectiveAlgorithm::kTree : CollectiveAlgorithm::kRing;
}

Communication make_collective(CommunicationKind kind, CollectiveAlgorithm algorithm, GroupId group,
                              const std::vector<std::int64_t>& boundaries, int index, DataType type,
                              std::optional<BucketId> partition) {
  Communication c;
  c.kind = kind;
  c.algorithm = algorithm;
  c.group = group;
  c.elements = boundaries.back();
  c.partition = partition;
  c.type = type;
  c.reduction_type = type == DataType::kInt64 ? DataType::kInt64 : DataType::kFp32;
  c.payload = ByteCount(c.elements * size_of(type));
  c.extent = {.exact = true, .expected = c.payload, .maximum = c.payload};
  const auto members = static_cast<std::int64_t>(boundaries.size()) - 1;
  if (algorithm == CollectiveAlgorithm::kTree) {
    // n-1 messages up and n-1 down among n members; roles don't tell members apart, so the mean is kept.
    const std::int64_t all = (kind == CommunicationKind::kAllReduce ? 2 : 1) * (members - 1);
    c.messages = (all + members - 1) / members;
    c.sent = ByteCount(c.messages * c.payload.value());
    return c;
  }
  const WireTraffic traffic = wire_traffic(kind, algorithm, boundaries, index);
  c.sent = ByteCount(traffic.sent_elements * size_of(type));
  c.messages = traffic.messages;
  return c;
}

}  // namespace trainyard
