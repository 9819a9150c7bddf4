#include "simulator/throughput/step_model.h"

#include <gtest/gtest.h>

#include "simulator/throughput/gemm_time.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/throughput_fit.h"

namespace trainyard::simulator {
namespace {

ModelSpec gpt(std::int64_t layers) {
  ModelSpec model;
  model.layers = layers;
  model.hidden = 4096;
  model.feed_forward = 16384;
  model.heads = 32;
  model.key_value_heads = 32;
  model.head_size = 128;
  model.vocabulary = 51200;
  model.gated_feed_forward = false;
  return model;
}

DescribedMachine a100s() {
  HardwareWords words;
  words.gpu = "A100-SXM4-80GB";
  words.inter_link = "8x200 Gb/s HDR InfiniBand";
  words.gpus = 64;
  return *described_machine(words);
}

class StepModelPrice : public testing::Test {
 protected:
  StepModel model(const Accelerator& accelerator, std::int64_t layers = 32) const {
    return {Workload{gpt(layers), 2048, 512}, Machine{accelerator, machine_.fabric, stack_}, groups_};
  }
  static Layout layout(int tensor, int pipeline, int data, std::int64_t accumulation) {
    Layout one;
    one.tensor = tensor;
    one.pipeline = pipeline;
    one.data = data;
    one.accumulation = accumulation;
    one.compute_type = DataType::kBf16;
    one.parameter_type = DataType::kBf16;
    one.gradient_type = DataType::kBf16;
    return one;
  }
  static Seconds part(const StepPrice& price, StepLoss loss) { return price.losses.at(static_cast<std::size_t>(loss)); }

  DescribedMachine machine_ = a100s();
  StackProfile stack_ = shipped_stacks().families.at("ampere-fused");
  std::shared_ptr<const GroupCost> groups_ = group_cost_of(machine_);
};

TEST_F(StepModelPrice, PartsSumToTheStep) {
  for (const Layout& one : {layout(1, 1, 64, 8), layout(8, 4, 2, 256), layout(2, 8, 4, 128)}) {
    const StepPrice price = model(machine_.accelerator).price(one);
    Seconds sum;
    for (const Seconds loss : price.losses) {
      sum += loss;
    }
    EXPECT_DOUBLE_EQ(sum.si(), price.step_time.si());
    EXPECT_LT(price.low, price.step_time);
    EXPECT_LT(price.step_time, price.high);
  }
}

TEST_F(StepModelPrice, IdealIsModelFlopsOverThePeak) {
  // Per token and layer: 24 h^2 for products and 2 s h for causal attention forward, times 3; the head 6 h V.
  const double h = 4096;
  const double per_token = 3 * 32 * (24 * h * h + 2 * 2048 * h) + 6 * h * 51200;
  const StepPrice price = model(machine_.accelerator).price(layout(2, 4, 8, 64));
  EXPECT_NEAR(part(price, StepLoss::kIdeal).si(), per_token * 2048 * 512 / 64 / 312e12, 1e-9);
}

TEST_F(StepModelPrice, FasterHardwareNeverSlows) {
  const Layout one = layout(4, 4, 4, 128);
  const Seconds before = model(machine_.accelerator).price(one).step_time;
  Accelerator memory = machine_.accelerator;
  memory.memory_bandwidth.value *= 1.5;
  EXPECT_LT(model(memory).price(one).step_time, before);
  Accelerator peak = machine_.accelerator;
  for (auto& [type, rate] : peak.dense_peak) {
    rate.value *= 1.5;
  }
  peak.power_w->value *= 1.5;
  EXPECT_LT(model(peak).price(one).step_time, before);
}

TEST_F(StepModelPrice, MoreMicroBatchesShrinkTheBubblesShare) {
  double before = 1.0;
  for (const std::int64_t accumulation : {8, 16, 64, 256}) {
    const StepPrice price = model(machine_.accelerator).price(layout(1, 8, 8, accumulation));
    const double share = part(price, StepLoss::kBubble) / price.step_time;
    EXPECT_LT(share, before);
    before = share;
  }
}

TEST_F(StepModelPrice, FullRecomputationRepeatsTheForwardOfEachLayer) {
  Layout one = layout(1, 1, 64, 8);
  const StepPrice none = model(machine_.accelerator).price(one);
  one.recompute = Recompute::kFull;
  const StepPrice full = model(machine_.accelerator).price(one);
  const double extra = part(full, StepLoss::kRecompute) / none.step_time;
  EXPECT_GT(extra, 0.24);  // a forward is a third, less the head, which isn't repeated
  EXPECT_LT(extra, 0.34);
  one.recompute_every = 2;
  const StepPrice half = model(machine_.accelerator).price(one);
  EXPECT_NEAR(part(half, StepLoss::kRecompute) / part(full, StepLoss::kRecompute), 0.5, 1e-9);
}

TEST_F(StepModelPrice, RecomputationThatStopsEarlyLeavesOutEachLayersLastProduct) {
  Layout one = layout(1, 1, 64, 8);
  one.recompute = Recompute::kFull;
  const StepPrice whole = model(machine_.accelerator).price(one);
  stack_.early_stop = true;
  const StepPrice early = model(machine_.accelerator).price(one);
  // 8 micro-batches of 2,048 tokens in 32 layers: 4096 outputs of 16384 inputs each.
  const MachineRates rates = machine_rates({machine_.accelerator, machine_.fabric, stack_}, DataType::kBf16);
  const Seconds product = gemm_time({2048, 4096, 16384}, rates.linear);
  EXPECT_NEAR((whole.step_time - early.step_time) / (8 * 32 * product), 1.0, 1e-9);
  EXPECT_NEAR(
      (whole.step_time - early.step_time) / (part(whole, StepLoss::kRecompute) - part(early, StepLoss::kRecompute)),
      1.0, 1e-9);
}

TEST_F(StepModelPrice, GradientsOfATensorPairCrossTheNicsOfTheirNode) {
  // Not hidden, tp 8: every GPU of a node reduces with its like on 8 nodes, over one NIC of 25 GB/s. Bytes as fp16.
  stack_.constants.at(static_cast<std::size_t>(StackConstant::kCommunication)) = 1.0;  // as nccl-tests
  Layout one = layout(8, 1, 8, 64);
  one.overlap_gradient_reduce = false;
  const StepPrice price = model(machine_.accelerator).price(one);
  const double parameters = (32 * 12 * 4096.0 * 4096.0 + 2 * 51200 * 4096.0) / 8;
  const double at_wire = 2 * parameters * 2 * 7 / 8 / 25e9;
  EXPECT_GT(part(price, StepLoss::kGradient).si(), at_wire);
  EXPECT_LT(part(price, StepLoss::kGradient).si(), 1.6 * at_wire);
}

TEST_F(StepModelPrice, TensorParallelismOverNodesCostsMoreThanInside) {
  const StepPrice inside = model(machine_.accelerator).price(layout(8, 1, 8, 64));
  const StepPrice across = model(machine_.accelerator).price(layout(16, 1, 4, 128));
  EXPECT_GT(part(across, StepLoss::kTensor), 1.5 * part(inside, StepLoss::kTensor));
}

TEST_F(StepModelPrice, ScaleOfAUsersRunScalesEveryPart) {
  const Layout one = layout(2, 4, 8, 64);
  StepModel priced = model(machine_.accelerator);
  const StepPrice before = priced.price(one);
  StackProfile slower = stack_;
  slower.scale = 1.25;
  priced.use_stack(slower);
  const StepPrice after = priced.price(one);
  EXPECT_NEAR(after.step_time / before.step_time, 1.25, 1e-12);
  EXPECT_NEAR(part(after, StepLoss::kBubble) / part(before, StepLoss::kBubble), 1.25, 1e-12);
}

TEST_F(StepModelPrice, CopiesPriceAlike) {
  StepModel one = model(machine_.accelerator);
  const Layout wanted = layout(2, 4, 8, 64);
  const Seconds time = one.price(wanted).step_time;
  StepModel other(one);
  EXPECT_EQ(other.price(wanted).step_time, time);
}

}  // namespace
}  // namespace trainyard::simulator
