#include "core/plan/accelerator.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/document/read_file.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

const std::string kModels = std::string(TRAINYARD_SOURCE_DIR) + "/models/";

std::vector<std::filesystem::path> files(const std::string& folder) {
  std::vector<std::filesystem::path> result;
  for (const auto& entry : std::filesystem::directory_iterator(kModels + folder)) {
    if (entry.path().extension() == ".json") {
      result.push_back(entry.path());
    }
  }
  return result;
}

// Data sheets print peaks with 2:4 sparsity, twice the dense ones. On every tensor core since Ampere, halving the
// type's width doubles the dense rate (fp4 on Blackwell Ultra: three times fp8's).
TEST(Accelerators, HaveDensePeaksThatGoByWidth) {
  int read = 0;
  for (const std::filesystem::path& file : files("accelerators")) {
    const Accelerator accelerator = read_accelerator(file);
    EXPECT_EQ(accelerator.name, file.stem().string());
    for (const auto& [type, rate] : accelerator.dense_peak) {
      EXPECT_FALSE(rate.source.empty()) << file << to_string(type);
      if (type == DataType::kFp8) {
        EXPECT_NEAR(rate.value / accelerator.peak(DataType::kBf16), 2.0, 0.03) << file;
      }
      if (type == DataType::kBf16) {
        EXPECT_EQ(rate.value, accelerator.peak(DataType::kFp16)) << file;
        EXPECT_NEAR(rate.value / accelerator.peak(DataType::kTf32), 2.0, 0.03) << file;
      }
      if (type == DataType::kNvFp4) {
        EXPECT_GE(rate.value / accelerator.peak(DataType::kFp8), 2.0) << file;
        EXPECT_LE(rate.value / accelerator.peak(DataType::kFp8), 3.0) << file;
      }
    }
    ASSERT_TRUE(accelerator.host_link_bandwidth && accelerator.power_w) << file;
    EXPECT_GE(accelerator.power_w->value, 250.0) << file;
    ++read;
  }
  EXPECT_GE(read, 19);
}

// Of a memory of 80 GB, CUDA reports 79.1 GiB; a package's own total counts what is held back for errors.
TEST(Accelerators, HaveTheMemoryThatAProcessGets) {
  const auto gibibytes = [](const char* name) {
    return static_cast<double>(read_accelerator(kModels + "accelerators/" + name + ".json").memory.value.value()) /
           static_cast<double>(std::int64_t{1} << 30);
  };
  EXPECT_NEAR(gibibytes("h100-sxm"), 79.1, 0.1);
  EXPECT_NEAR(gibibytes("a100-sxm-40"), 39.6, 0.1);
  EXPECT_NEAR(gibibytes("h200"), 139.8, 0.1);
  EXPECT_NEAR(gibibytes("mi300x"), 192.0, 0.1);
}

TEST(Accelerators, SayWhatTheyHaveNoPeakFor) {
  const Accelerator v100 = read_accelerator(kModels + "accelerators/v100-sxm2-32.json");
  EXPECT_EQ(v100.peak(DataType::kFp16).si(), 125e12);
  EXPECT_TRUE(contains(error_of([&] { v100.peak(DataType::kBf16); }).problem(), "no dense peak for bf16"));
}

TEST(Accelerators, TakeAPowerInWattsOnly) {
  std::string text = read_text_file(kModels + "accelerators/h200.json");
  text.replace(text.find("700 W"), 5, "0.7 kW");
  EXPECT_EQ(error_of([&] { parse_accelerator(text, "x"); }).where(), "x#/power/value");
}

TEST(Clusters, NameAnAcceleratorThatHasAFile) {
  int read = 0;
  for (const std::filesystem::path& file : files("clusters")) {
    const Fabric fabric = read_fabric(file);
    EXPECT_EQ(fabric.name, file.stem().string());
    EXPECT_NO_THROW(read_accelerator(kModels + "accelerators/" + fabric.accelerator + ".json")) << file;
    EXPECT_EQ(fabric.ranks.value % fabric.ranks_per_node.value, 0) << file;
    ++read;
  }
  EXPECT_GE(read, 8);
}

}  // namespace
}  // namespace trainyard
