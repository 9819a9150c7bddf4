#include "core/plan/recovery_policy_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace trainyard {

namespace {

using nlohmann::ordered_json;

constexpr std::array kDetectors{DetectorKind::kLossSpike, DetectorKind::kGradientNorm, DetectorKind::kReplicaHash,
                                DetectorKind::kGemmChecksum, DetectorKind::kReexecution};

DetectorKind parse_detector(const ObjectReader& reader, const std::string& name) {
  std::string known;
  for (const DetectorKind kind : kDetectors) {
    if (to_string(kind) == name) {
      return kind;
    }
    known += (known.empty() ? "one of: " : ", ") + std::string(to_string(kind));
  }
  reader.fail("detectors", "\"" + name + "\" is not a detector", known);
}

// As text that reads back as the same number.
std::string exact(Seconds time) { return fmt::format("{} s", time.si()); }

}  // namespace

CheckpointPolicy read_checkpoint_policy(ObjectReader reader) {
  CheckpointPolicy policy;
  policy.every_steps = reader.optional_integer("every_steps");
  policy.keep = reader.optional_integer("keep").value_or(policy.keep);
  policy.asynchronous = reader.optional_boolean("asynchronous").value_or(policy.asynchronous);
  reader.finish();
  return policy;
}

RecoveryPolicy read_recovery_policy(ObjectReader reader) {
  RecoveryPolicy policy;
  policy.kind =
      reader
          .optional_one_of("kind", {RecoveryKind::kRestartFromStorage, RecoveryKind::kPeerMemory,
                                    RecoveryKind::kTwoLevel, RecoveryKind::kInProcess, RecoveryKind::kDropReplica,
                                    RecoveryKind::kShrink, RecoveryKind::kHotSpares})
          .value_or(policy.kind);
  policy.restart_limit = reader.optional_integer("restart_limit").value_or(policy.restart_limit);
  policy.hang_timeout = reader.optional_quantity<Seconds>("hang_timeout").value_or(policy.hang_timeout);
  policy.heartbeat_timeout = reader.optional_quantity<Seconds>("heartbeat_timeout").value_or(policy.heartbeat_timeout);
  policy.spare_nodes = reader.optional_integer("spare_nodes").value_or(policy.spare_nodes);
  if (reader.has("detectors")) {
    for (const std::string& name : reader.texts("detectors")) {
      policy.detectors.push_back(parse_detector(reader, name));
    }
  }
  reader.finish();
  return policy;
}

ordered_json checkpoint_policy_json(const CheckpointPolicy& policy) {
  ordered_json json;
  json["every_steps"] = policy.every_steps ? ordered_json(*policy.every_steps) : ordered_json(nullptr);
  json["keep"] = policy.keep;
  json["asynchronous"] = policy.asynchronous;
  return json;
}

ordered_json recovery_policy_json(const RecoveryPolicy& policy) {
  ordered_json detectors = ordered_json::array();
  for (const DetectorKind kind : policy.detectors) {
    detectors.push_back(to_string(kind));
  }
  return {{"kind", to_string(policy.kind)},
          {"restart_limit", policy.restart_limit},
          {"hang_timeout", exact(policy.hang_timeout)},
          {"heartbeat_timeout", exact(policy.heartbeat_timeout)},
          {"spare_nodes", policy.spare_nodes},
          {"detectors", detectors}};
}

}  // namespace trainyard
