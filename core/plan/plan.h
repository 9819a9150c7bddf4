// Plan: model, cluster, layout, schedule, training and what to do about failures, as one document (plan.json) that the
// simulator prices, the executor runs and other tools can be exported to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/plan/provenance.h"
#include "core/plan/recovery_policy.h"
#include "core/plan/training.h"
#include "core/units/count.h"
#include "core/units/quantity.h"

namespace trainyard {

constexpr int kPlanSchema = 1;

// Which machine the plan is for. The fabric graph comes with the cluster importers; a plan names it.
struct ClusterReference {
  std::string name;  // of a device profile or of a file in models/clusters
  std::int64_t ranks_per_node = 1;
  std::string device;  // "cpu", "cuda"
};

// What the planner predicted when it wrote the plan.
struct Prediction {
  Seconds step_time;
  double tokens_per_second = 0.0;
  ByteCount memory_peak;  // of the worst rank
};

struct Plan {
  ModelSpec model;
  ClusterReference cluster;
  Layout layout;
  Training training;
  CheckpointPolicy checkpoint;
  RecoveryPolicy recovery;
  std::optional<Prediction> prediction;
  Provenance provenance;
};

// Throws Error where the parts contradict each other: degrees that don't divide heads, layers or batch,
// a sequence longer than the model's positions. `where` names the document.
void validate(const Plan& plan, const std::string& where);

Plan read_plan(const std::filesystem::path& file);
Plan parse_plan(const std::string& text, const std::string& where);
std::string to_json(const Plan& plan);
void write_plan(const Plan& plan, const std::filesystem::path& file);  // whole or not at all

}  // namespace trainyard
