// What a run does about failures: when it saves its state, and how it goes on after losing ranks. Part of the plan;
// the simulator prices every kind, the executor runs kRestartFromStorage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units/quantity.h"

namespace trainyard {

struct CheckpointPolicy {
  std::optional<std::int64_t> every_steps;  // unset: no checkpoints, the final weights only
  std::int64_t keep = 2;                    // complete checkpoints that stay on the disk
  // Training goes on while another thread writes the snapshot. Off: it waits until the checkpoint is complete.
  bool asynchronous = true;
  friend bool operator==(const CheckpointPolicy&, const CheckpointPolicy&) = default;
};

enum class RecoveryKind : std::uint8_t {
  kRestartFromStorage,  // all ranks start again from the last complete checkpoint
  kPeerMemory,          // a replacement takes the state from a peer's copy in memory
  kTwoLevel,            // from memory where a copy survives, else from storage
  kInProcess,           // processes stay and connect anew
  kDropReplica,         // go on without the data-parallel replica that lost a rank
  kShrink,              // go on under another layout on the ranks that are left
  kHotSpares,           // a waiting node takes the lost one's place
};
constexpr int kRecoveryKinds = static_cast<int>(RecoveryKind::kHotSpares) + 1;
std::string_view to_string(RecoveryKind kind);  // "restart_from_storage", ...
RecoveryKind parse_recovery_kind(const std::string& name, const std::string& where);

// What watches for corrupted values.
enum class DetectorKind : std::uint8_t {
  kLossSpike,
  kGradientNorm,
  kReplicaHash,   // of parameters, compared between data-parallel replicas
  kGemmChecksum,  // algorithm-based fault tolerance of matrix products
  kReexecution,   // a step done twice and compared
};
std::string_view to_string(DetectorKind kind);  // "loss_spike", ...

struct RecoveryPolicy {
  RecoveryKind kind = RecoveryKind::kRestartFromStorage;
  std::int64_t restart_limit = 10;                   // restarts of a run; the next failure ends it
  Seconds hang_timeout = from_si<Seconds>(600);      // without progress in any step of a rank
  Seconds heartbeat_timeout = from_si<Seconds>(30);  // without a sign of life from a rank's process
  std::int64_t spare_nodes = 0;                      // for kHotSpares
  std::vector<DetectorKind> detectors;
  friend bool operator==(const RecoveryPolicy&, const RecoveryPolicy&) = default;
};

}  // namespace trainyard
