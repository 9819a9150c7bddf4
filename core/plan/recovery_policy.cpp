#include "core/plan/recovery_policy.h"

#include "core/document/nearest_name.h"
#include "core/error.h"

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

RecoveryKind parse_recovery_kind(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  std::string list;
  for (int i = 0; i < kRecoveryKinds; ++i) {
    const auto kind = static_cast<RecoveryKind>(i);
    if (name == to_string(kind)) {
      return kind;
    }
    names.emplace_back(to_string(kind));
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const auto near = nearest_name(name, names);
  throw Error("there is no policy \"" + name + "\"", where,
              near ? "did you mean \"" + *near + "\"?" : "one of " + list);
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
