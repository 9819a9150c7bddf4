#include <nlohmann/json.hpp>

#include "core/document/write_file.h"
#include "core/plan/model_document.h"
#include "core/plan/plan.h"
#include "core/plan/provenance_json.h"
#include "core/plan/recovery_policy_json.h"
#include "core/units/format_quantity.h"

namespace trainyard {

namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json layout_json(const Layout& layout) {
  return {{"tensor", layout.tensor},
          {"pipeline", layout.pipeline},
          {"data", layout.data},
          {"context", layout.context},
          {"expert", layout.expert},
          {"expert_tensor", layout.expert_tensor},
          {"sequence_parallel", layout.sequence_parallel},
          {"context_kind", to_string(layout.context_kind)},
          {"zero_stage", layout.zero_stage},
          {"shard_group", or_null(layout.shard_group)},
          {"schedule", to_string(layout.schedule)},
          {"chunks_per_stage", layout.chunks_per_stage},
          {"chunk_layers", layout.chunk_layers},
          {"micro_batch", layout.micro_batch},
          {"accumulation", layout.accumulation},
          {"recompute", to_string(layout.recompute)},
          {"recompute_every", layout.recompute_every},
          {"offload_optimizer", layout.offload.optimizer},
          {"offload_activations", layout.offload.activations},
          {"offload_parameters", layout.offload.parameters},
          {"bucket", exact_text(layout.bucket_bytes)},
          {"overlap_gradient_reduce", layout.overlap_gradient_reduce},
          {"overlap_parameter_gather", layout.overlap_parameter_gather},
          {"overlap_tensor", layout.overlap_tensor},
          {"overlap_pipeline", layout.overlap_pipeline},
          {"overlap_expert", layout.overlap_expert},
          {"strict_reduction", layout.strict_reduction},
          {"rank_order", layout.rank_order},
          {"compute_type", to_string(layout.compute_type)},
          {"parameter_type", to_string(layout.parameter_type)},
          {"gradient_type", to_string(layout.gradient_type)},
          {"optimizer_type", to_string(layout.optimizer_type)},
          {"communication_type", to_string(layout.communication_type)}};
}

ordered_json training_json(const Training& training, bool scales_loss) {
  ordered_json json = {{"sequence", training.sequence},
                       {"global_batch", training.global_batch},
                       {"steps", training.steps},
                       {"seed", training.seed},
                       {"optimizer", to_string(training.optimizer)},
                       {"learning_rate", training.learning_rate},
                       {"minimum_rate_ratio", training.minimum_rate_ratio},
                       {"warmup_steps", training.warmup_steps},
                       {"beta1", training.beta1},
                       {"beta2", training.beta2},
                       {"epsilon", training.epsilon},
                       {"weight_decay", training.weight_decay},
                       {"momentum", training.momentum},
                       {"clip_norm", or_null(training.clip_norm)},
                       {"initial_std", training.initial_std}};
  // Only where it counts: a checkpoint belongs to its plan's text.
  if (scales_loss || training.loss_scaling != LossScaling{}) {
    json["initial_loss_scale"] = training.loss_scaling.initial;
    json["loss_scale_growth_steps"] = training.loss_scaling.growth_steps;
  }
  return json;
}

}  // namespace

std::string to_json(const Plan& plan) {
  ordered_json json = {
      {"document", "plan"},
      {"schema", kPlanSchema},
      {"model", model_json(plan.model)},
      {"cluster",
       {{"name", plan.cluster.name}, {"device", plan.cluster.device}, {"ranks_per_node", plan.cluster.ranks_per_node}}},
      {"layout", layout_json(plan.layout)},
      {"training", training_json(plan.training, plan.layout.compute_type == DataType::kFp16)},
      {"checkpoint", checkpoint_policy_json(plan.checkpoint)},
      {"recovery", recovery_policy_json(plan.recovery)}};
  if (plan.prediction) {
    json["prediction"] = {{"step_time_s", plan.prediction->step_time.si()},
                          {"tokens_per_second", plan.prediction->tokens_per_second},
                          {"memory_peak_bytes", plan.prediction->memory_peak.value()}};
  }
  json["provenance"] = provenance_json(plan.provenance);
  return json.dump(2) + "\n";
}

void write_plan(const Plan& plan, const std::filesystem::path& file) { write_file(file, to_json(plan)); }

}  // namespace trainyard
