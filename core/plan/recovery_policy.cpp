#include "core/plan/recovery_policy.h"

namespace trainyard {

std::string_view to_string(RecoveryKind kind) {
  switch (kind) {
    case RecoveryKind::kRestartFromStorage:
      return "restart_from_storage";
    case RecoveryKind::kPeerMemory:
      return "peer_memory";
    case RecoveryKind::kTwoLevel:
      return "two_level";
    case RecoveryKind::kInProcess:
      return "in_process";
    case RecoveryKind::kDropReplica:
      return "drop_replica";
    case RecoveryKind::kShrink:
      return "shrink";
    case RecoveryKind::kHotSpares:
      return "hot_spares";
  }
  return "?";
}

std::string_view to_string(DetectorKind kind) {
  switch (kind) {
    case DetectorKind::kLossSpike:
      return "loss_spike";
    case DetectorKind::kGradientNorm:
      return "gradient_norm";
    case DetectorKind::kReplicaHash:
      return "replica_hash";
    case DetectorKind::kGemmChecksum:
      return "gemm_checksum";
    case DetectorKind::kReexecution:
      return "reexecution";
  }
  return "?";
}

}  // namespace trainyard
