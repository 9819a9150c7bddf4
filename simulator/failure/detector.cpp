#include "simulator/failure/detector.h"

namespace trainyard::simulator {
namespace {

DetectorReach alike(double reach) { return {reach, reach}; }

double hash_reach(CorruptionSite site) {
  switch (site) {
    case CorruptionSite::kWeights:
    case CorruptionSite::kOptimizerState:
      return 1.0;
    case CorruptionSite::kCommunication:
      return 0.5;  // while gathering, one copy gets it; while reducing, all
    case CorruptionSite::kActivations:
    case CorruptionSite::kGradients:
      break;
  }
  return 0.0;
}

bool is_matrix_product(CorruptionSite site) {
  return site == CorruptionSite::kActivations || site == CorruptionSite::kGradients;
}

}  // namespace

DetectorReach detector_reach(DetectorKind kind, CorruptionCause cause, CorruptionSite site, std::int64_t replicas) {
  const bool computed = cause == CorruptionCause::kComputeError;
  switch (kind) {
    case DetectorKind::kLossSpike:
    case DetectorKind::kGradientNorm:
      return {0.0, 1.0};
    case DetectorKind::kReplicaHash:
      return alike(replicas > 1 ? hash_reach(site) : 0.0);
    case DetectorKind::kGemmChecksum:
      return alike(computed && is_matrix_product(site) ? 1.0 : 0.0);
    case DetectorKind::kReexecution:
      return alike(computed && site != CorruptionSite::kCommunication ? 1.0 : 0.0);
  }
  return {};
}

}  // namespace trainyard::simulator
