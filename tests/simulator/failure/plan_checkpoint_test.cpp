#include "simulator/failure/plan_checkpoint.h"

#include <gtest/gtest.h>

#include "core/cluster/builder.h"
#include "core/plan/plan.h"
#include "core/plan/shipped.h"
#include "core/program/program.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/failure/profile_resolution.h"

namespace trainyard::simulator {
namespace {

Layout bf16_layout(int tensor, int pipeline, int data) {
  Layout layout;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.data = data;
  layout.parameter_type = DataType::kBf16;
  layout.compute_type = DataType::kBf16;
  return layout;
}

// 2 B bf16 + 4 B fp32 master + 2 x 4 B AdamW moments = 14 B; BLOOM measures 13.1 (failures/checkpoint.json). 405.85 B
// parameters x 14 B = 5.68 TB, over 16,384 writers 347 MB each on average.
TEST(CheckpointSize, LlamaWith14BytesAParameter) {
  const ModelSpec model = open_model("llama-3.1-405b");
  Layout layout = bf16_layout(8, 16, 128);
  layout.zero_stage = 1;
  const CheckpointSize size = checkpoint_size(model, layout, OptimizerKind::kAdamW);
  EXPECT_DOUBLE_EQ(size.bytes_per_parameter, 14.0);
  EXPECT_NEAR(size.state.si(), 14.0 * 405.85e9, 0.001 * 14.0 * 405.85e9);
  EXPECT_GT(size.largest_saved.si(), size.state.si() / 16384.0);
  EXPECT_LT(size.largest_saved.si(), 1.15 * size.state.si() / 16384.0);  // stages with 8 of 126 layers, or a table
}

// What ranks save adds up to the state, each value once: 2 x 2 x 2 ranks of the demo model, whose stages are unlike.
TEST(CheckpointSize, WhatRanksHoldIsWhatTheProgramKeeps) {
  const ModelSpec model = open_model("demo-llama");
  for (const int zero : {0, 1, 2, 3}) {
    Plan plan;
    plan.model = model;
    plan.training.sequence = 64;
    plan.training.global_batch = 8;
    plan.training.steps = 1;
    plan.layout.tensor = 2;
    plan.layout.pipeline = 2;
    plan.layout.data = 2;
    plan.layout.accumulation = 4;
    plan.layout.zero_stage = zero;
    const Program program = compile(plan);
    double most = 0.0;
    double all = 0.0;
    for (const Role& role : program.roles) {
      double held = 0.0;
      for (const Buffer& buffer : role.buffers) {
        const bool state =
            buffer.persistent &&
            (buffer.content == BufferContent::kParameters || buffer.content == BufferContent::kMomentum ||
             buffer.content == BufferContent::kVariance || buffer.content == BufferContent::kMaster);
        held += state ? static_cast<double>(buffer.bytes.value()) : 0.0;
      }
      most = std::max(most, held);
      all += held * static_cast<double>(role.ranks);
    }
    const CheckpointSize size = checkpoint_size(model, plan.layout, OptimizerKind::kAdamW);
    // Programs cut shards at norm blocks, so that one of two may hold a block more.
    EXPECT_NEAR(size.largest_held.si(), most, 0.03 * most) << "ZeRO " << zero;
    EXPECT_NEAR(size.held.si(), all, 0.01 * all) << "ZeRO " << zero;
  }
}

// A superpod of one scalable unit: 32 hosts of 8 GPUs, 8 NICs each on a rail of its own: each of the 8 leaves has one
// NIC of every host.
TEST(FaultDomains, ALeafOfARailTouchesEveryHost) {
  const FailureProfile profile = open_failure_profile("llama3-h100");
  const Cluster cluster = build_cluster("superpod-h100:su=1");
  const auto gpus = static_cast<std::int64_t>(cluster.gpus().size());
  const FaultDomains domains(cluster, gpus, profile);
  EXPECT_EQ(domains.nodes(), gpus / 8);
  EXPECT_EQ(domains.groups(FaultDomain::kLeaf), 8);
  EXPECT_DOUBLE_EQ(domains.mean_nodes(FaultDomain::kLeaf), static_cast<double>(domains.nodes()));
  EXPECT_DOUBLE_EQ(domains.exposed(Exposure::kNic), static_cast<double>(gpus));
  EXPECT_DOUBLE_EQ(domains.mean_nodes(FaultDomain::kRack), domains.nodes() % 2 == 0 ? 2.0 : 1.9375);
  const FrontEnd front = front_end(cluster);
  EXPECT_GT(front.node.si(), 0.0);
  EXPECT_GT(front.storage.si(), 0.0);
}

// Without a graph: racks of two hosts, leaves as racks, power domains of 16.
TEST(FaultDomains, WithoutAGraphTheProfileSays) {
  const FailureProfile profile = open_failure_profile("llama3-h100");
  const FaultDomains domains(1024, 8, profile);
  EXPECT_EQ(domains.nodes(), 128);
  EXPECT_EQ(domains.groups(FaultDomain::kLeaf), 64);
  EXPECT_EQ(domains.groups(FaultDomain::kPowerDomain), 8);
  EXPECT_EQ(domains.groups(FaultDomain::kJob), 1);
  EXPECT_DOUBLE_EQ(domains.mean_nodes(FaultDomain::kProcess), 0.0);
}

// 64 GPUs on 8 nodes, tp 8 inside a node, dp 8 across nodes. ZeRO 0 and 8 replicas: any node's state is on 7 others.
// ZeRO 1 over all: nowhere else. Shards over groups of 4 (hybrid): two copies, 4 nodes apart. A power domain of 16
// nodes is the whole job and leaves none.
TEST(StateCopies, FollowTheLayout) {
  const FailureProfile profile = open_failure_profile("llama3-h100");
  const ModelSpec model = open_model("llama-3-8b");
  const FaultDomains domains(64, 8, profile);
  Layout layout = bf16_layout(8, 1, 8);
  const StateCopies replicated(model, layout, domains);
  EXPECT_EQ(replicated.on_devices(), 8);
  EXPECT_DOUBLE_EQ(replicated.devices_left(FaultDomain::kNode), 1.0);
  EXPECT_DOUBLE_EQ(replicated.devices_left(FaultDomain::kPowerDomain), 0.0);
  layout.zero_stage = 1;
  const StateCopies sharded(model, layout, domains);
  EXPECT_EQ(sharded.on_devices(), 1);
  EXPECT_DOUBLE_EQ(sharded.devices_left(FaultDomain::kNode), 0.0);
  EXPECT_DOUBLE_EQ(sharded.devices_left(FaultDomain::kProcess), 1.0);
  EXPECT_DOUBLE_EQ(sharded.peers_left(FaultDomain::kNode), 1.0);
  EXPECT_DOUBLE_EQ(sharded.peers_left(FaultDomain::kRack), 1.0);
  EXPECT_DOUBLE_EQ(sharded.peers_left(FaultDomain::kPowerDomain), 0.0);
  layout.zero_stage = 3;
  layout.shard_group = 4;
  const StateCopies hybrid(model, layout, domains);
  EXPECT_EQ(hybrid.on_devices(), 2);
  EXPECT_DOUBLE_EQ(hybrid.devices_left(FaultDomain::kNode), 1.0);
  EXPECT_DOUBLE_EQ(hybrid.devices_left(FaultDomain::kRack), 1.0);
}

// dp innermost: the 8 replicas of ZeRO 0 share a node, and go with it.
TEST(StateCopies, ReplicasOnOneNodeDontHelp) {
  const FailureProfile profile = open_failure_profile("llama3-h100");
  const ModelSpec model = open_model("llama-3-8b");
  const FaultDomains domains(64, 8, profile);
  Layout layout = bf16_layout(8, 1, 8);
  layout.rank_order = "dp-tp-cp-ep-pp";
  const StateCopies copies(model, layout, domains);
  EXPECT_EQ(copies.on_devices(), 8);
  EXPECT_DOUBLE_EQ(copies.devices_left(FaultDomain::kNode), 0.0);
}

// 30 s at 10,000 and 250 s at 98,304 GPUs; log-log between: at 16,384, part = ln(1.6384) / ln(9.8304) = 0.216, and
// 30 (250/30)^0.216 = 47.4 s; linear beyond.
TEST(ProfileResolution, CommunicatorInitGrowsWithScale) {
  const FailureProfile profile = open_failure_profile("llama3-h100");
  EXPECT_NEAR(communicator_init(profile.recovery, 16384).value.si(), 47.4, 0.1);
  EXPECT_DOUBLE_EQ(communicator_init(profile.recovery, 8).value.si(), 5.0);
  EXPECT_DOUBLE_EQ(communicator_init(profile.recovery, 2 * 98304).value.si(), 500.0);
}

// 2,048 nodes: 2,048 x 3.789 / 1000 a day is one in 3.09 h; a restart at this scale is about 420 s (failures.md).
TEST(ProfileResolution, LlamaOnSixteenThousand) {
  const FailureProfile profile = open_failure_profile("llama3-h100");
  const ModelSpec model = open_model("llama-3.1-405b");
  Layout layout = bf16_layout(8, 16, 128);
  layout.zero_stage = 1;
  const FaultDomains domains(16384, 8, profile);
  const Accelerator accelerator = open_accelerator("h100-sxm");
  Training training;
  training.sequence = 8192;
  training.global_batch = 2048;
  const JobInput input{.model = model,
                       .layout = layout,
                       .training = training,
                       .domains = domains,
                       .front_end = {},
                       .accelerator = &accelerator,
                       .network = 400_Gbps,
                       .step_time = 5.2_s,
                       .policy = {},
                       .checkpoint = {},
                       .overrides = {}};
  const ResolvedJob resolved = resolve_job(profile, input);
  PerSecond rate;
  for (const Hazard& hazard : resolved.job.hazards) {
    rate += hazard.rate.value;
  }
  EXPECT_NEAR(1.0 / rate.si() / 3600.0, 3.093, 0.004);
  const RestartStages& restart = resolved.job.restart;
  const Seconds total = restart.schedule.value + restart.process_start.value + restart.communicator_init.value +
                        restart.load_storage.value + restart.warm_up.value;
  EXPECT_NEAR(total.si(), 420.0, 30.0);
  EXPECT_NEAR(resolved.times.write.value.si(), 56.8, 0.2);  // 5.68 TB at 100 GB/s
  EXPECT_GT(resolved.times.load_storage_everyone.value, 3.0 * resolved.times.load_storage.value);

  // 514 FIT x 16,384: one compute error in 4.9 days.
  EXPECT_NEAR(1.0 / resolved.job.corruption.compute_errors.value.si() / 86400.0, 4.95, 0.05);
}

}  // namespace
}  // namespace trainyard::simulator
