#include "simulator/step/step_link_load.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/cluster/builder.h"
#include "tests/core/program/tiny_plan.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

using testing::tiny_plan;

std::vector<GroupLinkLoads> loads_of(const Layout& layout, const Cluster& cluster) {
  CollectiveFabric fabric(cluster);
  return step_link_loads(compile(tiny_plan(layout)), fabric, shipped_collective_models(), usual_flow_options(cluster));
}

double on_cables(const Cluster& cluster, const LinkLoads& loads) {
  double sum = 0.0;
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    const LinkId link(static_cast<std::int64_t>(l));
    if (cluster.link(link).kind == LinkKind::kCable) {
      sum += (loads.carried[forward_arc(link).at()] + loads.carried[reverse_arc(link).at()]).si();
    }
  }
  return sum;
}

const GroupLinkLoads* find(const std::vector<GroupLinkLoads>& parts, GroupKind kind) {
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.kind == kind; });
  return found == parts.end() ? nullptr : &*found;
}

// Tensor parallelism over the GPUs of a host stays inside it; data parallelism between two hosts goes over cables.
TEST(StepLinkLoads, GroupsInsideAHostLoadNoCableAndThoseBetweenHostsDo) {
  const Cluster cluster = build_cluster("fat-tree:hosts=2,gpus=2");
  Layout layout;
  layout.tensor = 2;
  layout.data = 2;
  const std::vector<GroupLinkLoads> parts = loads_of(layout, cluster);
  const GroupLinkLoads* tensor = find(parts, GroupKind::kTensor);
  const GroupLinkLoads* data = find(parts, GroupKind::kData);
  ASSERT_NE(tensor, nullptr);
  ASSERT_NE(data, nullptr);
  EXPECT_GT(tensor->payload.value(), 0);
  EXPECT_EQ(on_cables(cluster, tensor->loads), 0.0);
  EXPECT_GT(on_cables(cluster, data->loads), 0.0);
}

// A stage a host: what crosses is each micro-batch's activations forward and their gradients back, once over the
// cable up to the leaf and once down from it.
TEST(StepLinkLoads, StagesExchangeWhatTheirSendsSay) {
  const Cluster cluster = build_cluster("fat-tree:hosts=2,gpus=1");
  Layout layout;
  layout.pipeline = 2;
  layout.accumulation = 4;
  const Program program = compile(tiny_plan(layout));
  std::int64_t sent = 0;
  for (const Role& role : program.roles) {
    for (const Instruction& instruction : role.instructions) {
      if (instruction.communication && instruction.communication->kind == CommunicationKind::kSend) {
        sent += role.ranks * instruction.communication->payload.value();
      }
    }
  }
  const std::vector<GroupLinkLoads> parts = loads_of(layout, cluster);
  const GroupLinkLoads* pipeline = find(parts, GroupKind::kPipeline);
  ASSERT_NE(pipeline, nullptr);
  EXPECT_EQ(pipeline->payload.value(), sent);
  EXPECT_NEAR(on_cables(cluster, pipeline->loads), 2.0 * static_cast<double>(sent), 1.0);
}

TEST(StepLinkLoads, OneRankLoadsNothing) {
  const Cluster cluster = build_cluster("fat-tree:hosts=2");
  EXPECT_TRUE(loads_of(Layout{}, cluster).empty());
}

TEST(StepLinkLoads, MoreRanksThanGpusAreAnError) {
  const Cluster cluster = build_cluster("fat-tree:hosts=1,gpus=1");
  Layout layout;
  layout.data = 2;
  EXPECT_EQ(error_of([&] { loads_of(layout, cluster); }).problem(), "2 ranks on 1 GPUs");
}

}  // namespace
}  // namespace trainyard::simulator
