// The "checkpoint" and "recovery" objects of plan.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/document/object_reader.h"
#include "core/plan/recovery_policy.h"

namespace trainyard {

// An absent key has its default.
CheckpointPolicy read_checkpoint_policy(ObjectReader reader);
RecoveryPolicy read_recovery_policy(ObjectReader reader);

nlohmann::ordered_json checkpoint_policy_json(const CheckpointPolicy& policy);
nlohmann::ordered_json recovery_policy_json(const RecoveryPolicy& policy);

}  // namespace trainyard
