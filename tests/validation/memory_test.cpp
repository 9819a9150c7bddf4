// Predicted memory against the published throughput measurements beside the repository, where they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "simulator/memory/memory_model.h"
#include "tests/support/reference_file.h"
#include "tests/validation/published_memory.h"

namespace trainyard::simulator {
namespace {

class PublishedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = reference_file("published/throughput.json");
    if (!file) {
      GTEST_SKIP() << "no published/throughput.json in ../shared/reference; TRAINYARD_REFERENCE names its folder";
    }
    rows_ = testing::read_published_memory(*file);
  }

  static MemoryPrice price(const testing::PublishedMemory& row, const Layout& layout) {
    const Machine machine{row.run.machine.accelerator, row.run.machine.fabric, {}};
    return MemoryModel(row.run.workload, machine, row.habits).price(layout);
  }

  std::vector<testing::PublishedMemory> rows_;
};

// As the source reports: tensors, or the process.
TEST_F(PublishedMemoryTest, PeaksAreWithinSevenPerCent) {
  double sum = 0.0;
  double bias = 0.0;
  double most = 0.0;
  int rows = 0;
  for (const auto& row : rows_) {
    if (!row.measured || !row.complete) {
      continue;
    }
    const MemoryPrice priced = price(row, row.run.layouts.front());
    const ByteCount predicted = row.device_reading ? priced.total : priced.allocated;
    const double error = static_cast<double>(predicted.value()) / static_cast<double>(row.measured->value()) - 1.0;
    sum += std::abs(error);
    bias += error;
    most = std::max(most, std::abs(error));
    ++rows;
  }
  std::printf("%d rows: mean error %.1f %%, bias %+.1f %%, max %.1f %%\n", rows, 100 * sum / rows, 100 * bias / rows,
              100 * most);
  EXPECT_GE(rows, 70);
  EXPECT_LE(sum / rows, 0.07);
}

// Every published layout ran. Of what the GPU has, as the runtime reports it.
TEST_F(PublishedMemoryTest, LayoutsThatRanFit) {
  int rows = 0;
  int refused = 0;
  for (const auto& row : rows_) {
    ByteCount least;
    for (Layout layout : row.run.layouts) {
      layout.recompute = row.complete ? layout.recompute : Recompute::kFull;
      const ByteCount needs = price(row, layout).total;
      least = least.value() == 0 ? needs : std::min(least, needs);
    }
    const ByteCount device = row.run.machine.accelerator.memory.value;
    ++rows;
    if (least > device) {
      ++refused;
      std::printf("refused: %s needs %.1f GiB of %.1f (%s)\n", row.run.run.id.c_str(),
                  static_cast<double>(least.value()) / 0x1p30, static_cast<double>(device.value()) / 0x1p30,
                  describe(row.run.layouts.front()).c_str());
    }
  }
  std::printf("%d of %d layouts that ran are refused\n", refused, rows);
  EXPECT_LE(refused, rows / 100);
}

}  // namespace
}  // namespace trainyard::simulator
