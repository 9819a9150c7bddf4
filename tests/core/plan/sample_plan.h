// A plan in which no value is the default, so that a forgotten key shows in a round trip.
#pragma once

#include "core/plan/plan.h"

namespace trainyard {

inline Plan sample_plan() {
  Plan plan;
  plan.model = {.name = "tiny",
                .family = ModelFamily::kQwen3Moe,
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
                .rope_scaling = RopeScaling{8.0, 1.5, 4.5, 64, RopeScalingKind::kYarn, 31.0, 2.0},
                .rotary_fraction = 0.5,
                .tied_embeddings = true,
                .normalization = Normalization::kLayer,
                .activation = Activation::kGelu,
                .gated_feed_forward = false,
                .position_encoding = PositionEncoding::kAlibi,
                .value_head_size = 24,
                .experts = MixtureOfExperts{.experts = 6,
                                            .experts_per_token = 4,
                                            .expert_feed_forward = 32,
                                            .shared_experts = 1,
                                            .first_dense_layers = 2,
                                            .every = 3,
                                            .capacity_factor = 1.25,
                                            .imbalance = 1.5,
                                            .groups = 3,
                                            .groups_per_token = 2,
                                            .router_bias = true,
                                            .expert_bias = true},
                .sliding_window = SlidingWindow{.window = 32, .full_every = 4},
                .multi_token_layers = 1,
                .query_key_value_bias = true,
                .output_bias = true,
                .feed_forward_bias = true,
                .query_key_norm = true,
                .attention_sinks = true,
                .parallel_branches = true,
                .shared_norm = true,
                .embedding_norm = true};
  plan.cluster = {.name = "two-nodes", .ranks_per_node = 6, .device = "cpu"};
  plan.layout = {.tensor = 2,
                 .pipeline = 2,
                 .data = 3,
                 .context = 2,
                 .expert = 3,
                 .expert_tensor = 2,
                 .sequence_parallel = true,
                 .context_kind = ContextKind::kAllGather,
                 .zero_stage = 1,
                 .shard_group = 3,
                 .schedule = ScheduleKind::kInterleaved,
                 .chunks_per_stage = 2,
                 .chunk_layers = {1, 3, 3, 1},
                 .micro_batch = 5,
                 .accumulation = 4,
                 .recompute = Recompute::kFull,
                 .recompute_every = 2,
                 .offload = {.optimizer = true, .activations = true, .parameters = true},
                 .bucket_bytes = ByteCount(1000001),
                 .overlap_gradient_reduce = false,
                 .overlap_parameter_gather = true,
                 .overlap_tensor = true,
                 .overlap_pipeline = true,
                 .overlap_expert = true,
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
  plan.checkpoint = {.every_steps = 50, .keep = 3, .asynchronous = false};
  plan.recovery = {.kind = RecoveryKind::kTwoLevel,
                   .restart_limit = 7,
                   .hang_timeout = from_si<Seconds>(0.1 + 0.2),
                   .heartbeat_timeout = from_si<Seconds>(12),
                   .spare_nodes = 4,
                   .detectors = {DetectorKind::kReplicaHash, DetectorKind::kGemmChecksum}};
  plan.prediction = Prediction{
      .step_time = from_si<Seconds>(0.1 + 0.2), .tokens_per_second = 12345.678, .memory_peak = ByteCount(1LL << 40)};
  plan.provenance = {.tool = "trainyard", .version = "9.9", .inputs = {{"model", content_hash("x")}}};
  return plan;
}

}  // namespace trainyard
