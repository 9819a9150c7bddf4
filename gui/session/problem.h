// Problem: a study's words opened: files read, names looked up, the machine's numbers and graph at hand. Immutable and
// shared, so that jobs keep the one they began with.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/plan/device_profile.h"
#include "core/plan/plan.h"
#include "core/plan/recovery_policy.h"
#include "core/plan/training.h"
#include "core/units/quantity.h"
#include "gui/session/study.h"
#include "simulator/failure/failure_profile.h"
#include "simulator/throughput/machine.h"

namespace trainyard::gui {

// What a study's `precision` may name: fp32 and fp16 are weights and messages too, the others' are bf16.
inline constexpr std::array kPrecisions = {DataType::kFp32, DataType::kBf16,  DataType::kFp16,
                                           DataType::kFp8,  DataType::kMxFp8, DataType::kNvFp4};

struct Problem {
  Study study;
  ModelSpec model;
  Training training;
  DeviceProfile profile;                      // of this machine (measured), or of a cluster (analytic)
  std::optional<simulator::Machine> machine;  // of a cluster; nothing: this machine
  std::shared_ptr<const Cluster> cluster;     // its graph; null where only nodes and NICs are known
  Layout base;                                // types: what a search leaves alone
  std::optional<simulator::FailureProfile> failures;
  std::optional<Seconds> mean_time_between_failures;  // said by hand; then `failures` has the times of recovery alone
  RecoveryPolicy recovery;
  CheckpointPolicy checkpoint;

  bool on_this_machine() const { return !machine; }
  bool wanted(const Layout& layout) const;  // by the study's limits
  Plan plan_of(const Layout& layout) const;
};

struct FieldError {
  Field field = Field::kModel;
  std::string problem;
  std::string hint;
};

struct OpenedProblem {
  std::shared_ptr<const Problem> problem;  // null where some field is wrong, or this machine isn't measured yet
  std::vector<FieldError> errors;
  bool unmeasured = false;  // this machine: no profile yet
};

// Throws nothing for what a person wrote: that is in the errors.
OpenedProblem open_problem(const Study& study);

}  // namespace trainyard::gui
