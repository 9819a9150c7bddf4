#include "core/document/json_document.h"
#include "core/model/model_limits.h"
#include "core/plan/model_document.h"
#include "core/plan/plan.h"
#include "core/plan/provenance_json.h"
#include "core/plan/recovery_policy_json.h"

namespace trainyard {

namespace {

// An absent key leaves the value as it is.
void read(ObjectReader& reader, std::string_view key, std::int64_t& value) {
  value = reader.optional_integer(key).value_or(value);
}
void read(ObjectReader& reader, std::string_view key, int& value) {
  value = reader.optional_small_integer(key).value_or(value);
}
void read(ObjectReader& reader, std::string_view key, double& value) {
  value = reader.optional_number(key).value_or(value);
}
void read(ObjectReader& reader, std::string_view key, bool& value) {
  value = reader.optional_boolean(key).value_or(value);
}
void read(ObjectReader& reader, std::string_view key, std::string& value) {
  value = reader.optional_text(key).value_or(value);
}
void read(ObjectReader& reader, std::string_view key, DataType& type) {
  type = reader
             .optional_one_of(key, {DataType::kFp32, DataType::kTf32, DataType::kFp16, DataType::kBf16, DataType::kFp8,
                                    DataType::kMxFp8, DataType::kNvFp4, DataType::kFp64})
             .value_or(type);
}

ClusterReference read_cluster(ObjectReader reader) {
  ClusterReference cluster;
  cluster.name = reader.text("name");
  cluster.device = reader.text("device");
  read(reader, "ranks_per_node", cluster.ranks_per_node);
  reader.finish();
  return cluster;
}

Layout read_layout(ObjectReader reader) {
  Layout layout;
  read(reader, "tensor", layout.tensor);
  read(reader, "pipeline", layout.pipeline);
  read(reader, "data", layout.data);
  read(reader, "context", layout.context);
  read(reader, "expert", layout.expert);
  read(reader, "expert_tensor", layout.expert_tensor);
  read(reader, "sequence_parallel", layout.sequence_parallel);
  layout.context_kind =
      reader.optional_one_of("context_kind", {ContextKind::kRing, ContextKind::kUlysses, ContextKind::kAllGather})
          .value_or(layout.context_kind);
  read(reader, "zero_stage", layout.zero_stage);
  layout.shard_group = reader.optional_small_integer("shard_group", 1);
  layout.schedule =
      reader
          .optional_one_of("schedule", {ScheduleKind::kGpipe, ScheduleKind::k1f1b, ScheduleKind::kInterleaved,
                                        ScheduleKind::kZeroBubbleH1, ScheduleKind::kZeroBubbleH2,
                                        ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipe})
          .value_or(layout.schedule);
  read(reader, "chunks_per_stage", layout.chunks_per_stage);
  if (reader.has("chunk_layers")) {
    for (const std::int64_t layers : reader.integers("chunk_layers", 0, kMostLayers)) {
      layout.chunk_layers.push_back(static_cast<int>(layers));
    }
  }
  read(reader, "micro_batch", layout.micro_batch);
  read(reader, "accumulation", layout.accumulation);
  layout.recompute = reader.optional_one_of("recompute", {Recompute::kNone, Recompute::kSelective, Recompute::kFull})
                         .value_or(layout.recompute);
  read(reader, "recompute_every", layout.recompute_every);
  read(reader, "offload_optimizer", layout.offload.optimizer);
  read(reader, "offload_activations", layout.offload.activations);
  read(reader, "offload_parameters", layout.offload.parameters);
  layout.bucket_bytes = reader.optional_byte_count("bucket").value_or(layout.bucket_bytes);
  read(reader, "overlap_gradient_reduce", layout.overlap_gradient_reduce);
  read(reader, "overlap_parameter_gather", layout.overlap_parameter_gather);
  read(reader, "overlap_tensor", layout.overlap_tensor);
  read(reader, "overlap_pipeline", layout.overlap_pipeline);
  read(reader, "overlap_expert", layout.overlap_expert);
  read(reader, "strict_reduction", layout.strict_reduction);
  read(reader, "rank_order", layout.rank_order);
  read(reader, "compute_type", layout.compute_type);
  read(reader, "parameter_type", layout.parameter_type);
  read(reader, "gradient_type", layout.gradient_type);
  read(reader, "optimizer_type", layout.optimizer_type);
  read(reader, "communication_type", layout.communication_type);
  reader.finish();
  return layout;
}

Training read_training(ObjectReader reader) {
  Training training;
  training.sequence = reader.integer("sequence");
  training.global_batch = reader.integer("global_batch");
  training.steps = reader.integer("steps");
  if (reader.has("seed")) {
    training.seed = reader.seed("seed");
  }
  training.optimizer =
      reader.optional_one_of("optimizer", {OptimizerKind::kAdamW, OptimizerKind::kSgd}).value_or(training.optimizer);
  read(reader, "learning_rate", training.learning_rate);
  read(reader, "minimum_rate_ratio", training.minimum_rate_ratio);
  read(reader, "warmup_steps", training.warmup_steps);
  read(reader, "beta1", training.beta1);
  read(reader, "beta2", training.beta2);
  read(reader, "epsilon", training.epsilon);
  read(reader, "weight_decay", training.weight_decay);
  read(reader, "momentum", training.momentum);
  if (reader.is_null("clip_norm")) {
    training.clip_norm = std::nullopt;  // absent clips at the default, null does not clip
  } else if (reader.has("clip_norm")) {
    training.clip_norm = reader.number("clip_norm");
  }
  read(reader, "initial_std", training.initial_std);
  read(reader, "initial_loss_scale", training.loss_scaling.initial);
  read(reader, "loss_scale_growth_steps", training.loss_scaling.growth_steps);
  reader.finish();
  return training;
}

std::optional<Prediction> read_prediction(std::optional<ObjectReader> reader) {
  if (!reader) {
    return std::nullopt;
  }
  Prediction prediction;
  prediction.step_time = reader->si<Seconds>("step_time_s");
  prediction.tokens_per_second = reader->number("tokens_per_second");
  prediction.memory_peak = ByteCount(reader->integer("memory_peak_bytes"));
  reader->finish();
  return prediction;
}

}  // namespace

Plan parse_plan(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("plan", kPlanSchema);
  Plan plan;
  plan.model = read_model(root.object("model"));
  plan.cluster = read_cluster(root.object("cluster"));
  plan.layout = read_layout(root.object("layout"));
  plan.training = read_training(root.object("training"));
  if (std::optional<ObjectReader> checkpoint = root.optional_object("checkpoint")) {
    plan.checkpoint = read_checkpoint_policy(*checkpoint);
  }
  if (std::optional<ObjectReader> recovery = root.optional_object("recovery")) {
    plan.recovery = read_recovery_policy(*recovery);
  }
  plan.prediction = read_prediction(root.optional_object("prediction"));
  plan.provenance = read_provenance(root);
  root.finish();
  validate(plan, where);
  return plan;
}

Plan read_plan(const std::filesystem::path& file) { return parse_plan(read_text_file(file), file.string()); }

}  // namespace trainyard
