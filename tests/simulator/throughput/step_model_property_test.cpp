// What holds for every accelerator and layout, also those that nobody published: finite, below what any software has
// reached, and never slower on faster hardware.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/plan/shipped.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/throughput_fit.h"

namespace trainyard::simulator {
namespace {

constexpr std::int64_t kSequence = 4096;

struct Drawn {
  Workload workload;
  Layout layout;
};

template <class T>
T one_of(std::mt19937& random, std::initializer_list<T> values) {
  return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
}

Drawn draw(std::mt19937& random) {
  Drawn drawn;
  Layout& layout = drawn.layout;
  layout.tensor = one_of(random, {1, 2, 4, 8, 16});
  layout.pipeline = one_of(random, {1, 2, 3, 5, 12});
  layout.context = one_of(random, {1, 1, 2});
  layout.data = one_of(random, {1, 3, 4, 32});
  layout.micro_batch = one_of<std::int64_t>(random, {1, 2, 7});
  layout.accumulation = one_of<std::int64_t>(random, {1, 4, 60});
  layout.sequence_parallel = layout.tensor > 1 && random() % 2 == 0;
  layout.zero_stage = one_of(random, {0, 1, 2, 3});
  layout.recompute = one_of(random, {Recompute::kNone, Recompute::kSelective, Recompute::kFull});
  layout.schedule = one_of(random, {ScheduleKind::kGpipe, ScheduleKind::k1f1b, ScheduleKind::kZeroBubbleH1});
  layout.overlap_gradient_reduce = random() % 2 == 0;
  layout.compute_type = one_of(random, {DataType::kFp16, DataType::kBf16, DataType::kFp8});
  ModelSpec& model = drawn.workload.model;
  model.layers = one_of<std::int64_t>(random, {12, 31, 60});
  model.heads = one_of<std::int64_t>(random, {16, 48});
  model.head_size = one_of<std::int64_t>(random, {80, 128});
  model.hidden = model.heads * model.head_size;
  model.key_value_heads = one_of<std::int64_t>(random, {8, model.heads});
  model.gated_feed_forward = random() % 2 == 0;
  model.feed_forward = one_of<std::int64_t>(random, {3, 4}) * model.hidden;
  model.vocabulary = one_of<std::int64_t>(random, {32000, 250880});
  drawn.workload.sequence = kSequence;
  drawn.workload.global_batch = layout.data * layout.micro_batch * layout.accumulation;
  return drawn;
}

// Nodes of eight, the usual rate a NIC.
DescribedMachine described(const Accelerator& accelerator, std::int64_t ranks, double faster_nics = 1.0) {
  HardwareWords words;
  words.gpu = accelerator.name;
  words.gpus = ranks;
  words.gpus_per_node = std::min<std::int64_t>(ranks, 8);
  DescribedMachine machine = *described_machine(words);
  machine.node.nic_rate = faster_nics * machine.node.nic_rate;
  return machine;
}

// Peak and power together, so that the share that power allows stays.
Accelerator with_peak(Accelerator accelerator, double factor) {
  for (auto& [type, rate] : accelerator.dense_peak) {
    rate.value *= factor;
  }
  if (accelerator.power_w) {
    accelerator.power_w->value *= factor;
  }
  return accelerator;
}

std::vector<std::string> accelerators() {
  std::vector<std::string> names;
  for (const ShippedFile& file : shipped_accelerators()) {
    names.emplace_back(file.name);
  }
  return names;
}

class EveryAccelerator : public testing::TestWithParam<std::string> {};

TEST_P(EveryAccelerator, PricesOddLayoutsFinitelyBelowRecordsAndFasterOnFasterHardware) {
  constexpr double kRecord = 0.75;
  const StackLibrary library = shipped_stacks();
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const Drawn drawn = draw(random);
    Accelerator accelerator = open_accelerator(GetParam());
    accelerator.name = GetParam();
    const DescribedMachine machine = described(accelerator, drawn.layout.ranks());
    const StackProfile& stack = library.families.at(round % 2 == 0 ? "any-fused" : "any-eager");
    const auto price = [&](const Accelerator& gpu, const std::shared_ptr<const GroupCost>& groups) {
      return StepModel(drawn.workload, Machine{gpu, machine.fabric, stack}, groups).price(drawn.layout);
    };
    const std::shared_ptr<const GroupCost> groups = group_cost_of(machine);
    const StepPrice usual = price(accelerator, groups);
    const double mfu = usual.losses.front() / usual.step_time;
    ASSERT_TRUE(std::isfinite(usual.step_time.si())) << "round " << round;
    EXPECT_GT(mfu, 0.0) << "round " << round;
    EXPECT_LT(mfu, kRecord) << "round " << round;
    for (const Seconds loss : usual.losses) {
      EXPECT_TRUE(std::isfinite(loss.si())) << "round " << round;
    }
    constexpr double kRounding = 1.0 + 1e-9;
    Accelerator memory = accelerator;
    memory.memory_bandwidth.value *= 1.5;
    EXPECT_LE(price(memory, groups).step_time, kRounding * usual.step_time) << "round " << round;
    EXPECT_LE(price(with_peak(accelerator, 1.5), groups).step_time, kRounding * usual.step_time) << "round " << round;
    const std::shared_ptr<const GroupCost> nics = group_cost_of(described(accelerator, drawn.layout.ranks(), 2.0));
    EXPECT_LE(price(accelerator, nics).step_time, kRounding * usual.step_time) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, EveryAccelerator, testing::ValuesIn(accelerators()), [](const auto& tested) {
  std::string name = tested.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace trainyard::simulator
