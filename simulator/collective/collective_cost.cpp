#include "simulator/collective/collective_cost.h"

#include <algorithm>

#include "simulator/collective/analytic_collectives.h"
#include "simulator/collective/measured_collectives.h"

namespace trainyard::simulator {
namespace {

int tree_depth(int members) {
  int depth = 0;
  while ((std::int64_t{1} << depth) < members) {
    ++depth;
  }
  return depth;
}

bool is_transfer(CommunicationKind kind) {
  return kind == CommunicationKind::kSend || kind == CommunicationKind::kRecv;
}

}  // namespace

double wire_factor(CommunicationKind kind, CollectiveAlgorithm algorithm, int members) {
  if (is_transfer(kind)) {
    return 1.0;
  }
  const double n = members;
  const double part = (n - 1.0) / n;
  switch (kind) {
    case CommunicationKind::kAllReduce:
      switch (algorithm) {
        case CollectiveAlgorithm::kRing:
          return 2.0 * part;
        case CollectiveAlgorithm::kDirect:
          return n - 1.0;
        case CollectiveAlgorithm::kTree:
          return 2.0 * tree_depth(members);
      }
      break;
    case CommunicationKind::kBroadcast:
      return algorithm == CollectiveAlgorithm::kTree ? tree_depth(members) : n - 1.0;
    default:
      break;
  }
  return part;
}

double dependent_steps(CommunicationKind kind, CollectiveAlgorithm algorithm, int members) {
  if (is_transfer(kind)) {
    return 1.0;
  }
  if (members <= 1) {
    return 0.0;
  }
  const bool twice = kind == CommunicationKind::kAllReduce;
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      return (twice ? 2.0 : 1.0) * (members - 1.0);
    case CollectiveAlgorithm::kDirect:
      return 1.0;
    case CollectiveAlgorithm::kTree:
      return (twice ? 2.0 : 1.0) * tree_depth(members);
  }
  return 1.0;
}

std::unique_ptr<const CollectiveCost> collective_cost(const DeviceProfile& profile, std::int64_t ranks_at_once) {
  if (const MeasuredProfile* measured = profile.measured()) {
    return std::make_unique<MeasuredCollectives>(measured->at(static_cast<int>(ranks_at_once)), profile.name);
  }
  return std::make_unique<AnalyticCollectives>(*profile.analytic());
}

}  // namespace trainyard::simulator
