// Predicted memory against the published throughput measurements beside the repository, where they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "simulator/memory/memory_model.h"
#include "tests/simulator/support/profiles.h"
#include "tests/validation/published_memory.h"

namespace trainyard::simulator {
namespace {

namespace fs = std::filesystem;

class PublishedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* up : {"../shared", "../../shared"}) {
      const fs::path file = fs::path(TRAINYARD_SOURCE_DIR) / up / "reference/published/throughput.json";
      if (fs::exists(file)) {
        rows_ = testing::read_published_memory(file);
      }
    }
    if (rows_.empty()) {
      GTEST_SKIP() << "no ../shared/reference/published/throughput.json beside the repository";
    }
  }

  MemoryPrice price(const testing::PublishedMemory& row, const Layout& layout) const {
    const DeviceProfile cluster = llama3_cluster();
    Machine machine{cluster.analytic()->accelerator, cluster.analytic()->fabric, {}};
    return MemoryModel(row.workload, machine, row.habits).price(layout);
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
    const MemoryPrice priced = price(row, row.layout);
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

// Every published layout ran.
TEST_F(PublishedMemoryTest, LayoutsThatRanFit) {
  int rows = 0;
  int refused = 0;
  for (const auto& row : rows_) {
    const auto needs = [&](Recompute recompute) {
      Layout layout = row.layout;
      layout.recompute = recompute;
      return price(row, layout).total;
    };
    const ByteCount least = row.complete ? needs(row.layout.recompute) : needs(Recompute::kFull);
    ++rows;
    if (least > row.device) {
      ++refused;
      std::printf("refused: %s needs %.1f GiB of %.1f (%s)\n", row.id.c_str(),
                  static_cast<double>(least.value()) / 0x1p30, static_cast<double>(row.device.value()) / 0x1p30,
                  describe(row.layout).c_str());
    }
  }
  std::printf("%d of %d layouts that ran are refused\n", refused, rows);
  EXPECT_LE(refused, rows / 100);
}

}  // namespace
}  // namespace trainyard::simulator
