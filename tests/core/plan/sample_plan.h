// A plan in which no value is the default, so that a forgotten key shows in a round trip.
#pragma once

#include "core/plan/plan.h"

namespace trainyard {

inline Plan sample_plan() {
  Plan plan;
  plan.model = {.name = "tiny",
                .family = ModelFamily::kLlama,
                .layers = 8,
                .hidden = 64,
                .feed_forward = 96,
                .heads = 4,
                .key_value_heads = 2,
                .head_size = 16,
                .vocabulary = 256,
                .positions = 128,
                .norm_epsilon = 1e-6,
                .rope_theta = 500000.0,
                .rope_scaling = RopeScaling{8.0, 1.5, 4.5, 64},
                .tied_embeddings = true};
  plan.cluster = {.name = "two-nodes", .ranks_per_node = 6, .device = "cpu"};
  plan.layout = {.tensor = 2,
                 .pipeline = 2,
                 .data = 3,
                 .context = 1,
                 .expert = 3,
                 .expert_tensor = 2,
                 .sequence_parallel = true,
                 .zero_stage = 1,
                 .schedule = ScheduleKind::kInterleaved,
                 .chunks_per_stage = 2,
                 .micro_batch = 5,
                 .accumulation = 4,
                 .recompute = Recompute::kFull,
                 .bucket_bytes = ByteCount(1000001),
                 .overlap_gradient_reduce = false,
                 .strict_reduction = true,
                 .rank_order = "tp-cp-dp-ep-pp",
                 .compute_type = DataType::kBf16,
                 .parameter_type = DataType::kBf16,
                 .gradient_type = DataType::kFp16,
                 .optimizer_type = DataType::kFp64,
                 .communication_type = DataType::kFp8};
  plan.training = {.sequence = 100,
                   .global_batch = 60,
                   .steps = 1000,
                   .seed = 18446744073709551615ULL,
                   .optimizer = OptimizerKind::kSgd,
                   .learning_rate = 0.1,
                   .minimum_rate_ratio = 0.2,
                   .warmup_steps = 10,
                   .beta1 = 0.8,
                   .beta2 = 0.99,
                   .epsilon = 1e-7,
                   .weight_decay = 0.3,
                   .momentum = 0.9,
                   .clip_norm = std::nullopt,
                   .initial_std = 0.01};
  plan.checkpoint.every_steps = 50;
  plan.prediction = Prediction{
      .step_time = from_si<Seconds>(0.1 + 0.2), .tokens_per_second = 12345.678, .memory_peak = ByteCount(1LL << 40)};
  plan.provenance = {.tool = "trainyard", .version = "9.9", .inputs = {{"model", content_hash("x")}}};
  return plan;
}

}  // namespace trainyard
