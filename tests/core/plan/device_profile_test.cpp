#include "core/plan/device_profile.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "tests/support/error_of.h"

namespace trainyard {
namespace {

DeviceProfile small_profile() {
  Concurrency set;
  set.ranks_at_once = 2;
  set.gemms = {{Gemm{1, 8, 16, 32, DataType::kFp32, Transpose::kTN, true}, 3.5_us}};
  set.attentions = {{Attention{2, 4, 2, 64, 64, 16, AttentionMask::kCausal, AttentionPass::kBackward, 64}, 40_us}};
  set.elementwise = {{ElementwiseKernel::kAdamW, 1000, ByteCount(28000), 9_us}};
  set.collectives = {{CommunicationKind::kReduceScatter, CollectiveAlgorithm::kDirect, 2, ByteCount(4096), 50_us}};
  set.overlap = {{2, 1.4, 1.1}};
  set.host_copies = {{CopyDirection::kToDevice, ByteCount(1 << 20), 50_us},
                     {CopyDirection::kToDevice, ByteCount(1 << 22), 100_us},
                     {CopyDirection::kToHost, ByteCount(1 << 20), 40_us}};
  set.instruction_overhead = 1_us;
  set.stream_handover = 5_us;
  set.peak_gemm_rate = 0.05_TFLOPS;
  set.process_baseline = ByteCount(50 << 20);
  MeasuredProfile measured;
  measured.memory = ByteCount(std::int64_t{8} << 30);
  measured.concurrencies = {set};
  DeviceProfile profile;
  profile.name = "local";
  profile.device = "cpu";
  profile.data = measured;
  profile.provenance = {"trainyard", "0.1.0", {}};
  return profile;
}

TEST(DeviceProfile, WhatIsWrittenIsReadBack) {
  const std::string text = to_json(small_profile());
  EXPECT_EQ(to_json(parse_device_profile(text, "test")), text);
  const DeviceProfile profile = parse_device_profile(text, "test");
  const Concurrency& set = profile.measured()->concurrencies.at(0);
  EXPECT_EQ(set.gemms[0].gemm, small_profile().measured()->concurrencies[0].gemms[0].gemm);
  EXPECT_EQ(set.attentions[0].attention, small_profile().measured()->concurrencies[0].attentions[0].attention);
}

// 4 MiB in 100 us is the fastest to the device. A profile of before copies were measured has none.
TEST(DeviceProfile, HostCopiesHaveABestRateEachWayAndMayBeAbsent) {
  const DeviceProfile profile = parse_device_profile(to_json(small_profile()), "test");
  const Concurrency& set = profile.measured()->concurrencies.at(0);
  EXPECT_DOUBLE_EQ(best_copy_rate(set, CopyDirection::kToDevice).value().si(), (1 << 22) / 100e-6);
  EXPECT_DOUBLE_EQ(best_copy_rate(set, CopyDirection::kToHost).value().si(), (1 << 20) / 40e-6);
  std::string text = to_json(small_profile());
  const std::size_t begin = text.rfind(',', text.find("\"host_copies\""));
  const std::size_t end = text.find(']', begin);
  const DeviceProfile old = parse_device_profile(text.erase(begin, end + 1 - begin), "old");
  EXPECT_FALSE(best_copy_rate(old.measured()->concurrencies.at(0), CopyDirection::kToHost).has_value());
}

TEST(DeviceProfile, ABadSampleIsAnErrorAtItsPlace) {
  std::string text = to_json(small_profile());
  text[text.find("\"tn\"") + 1] = 'q';
  EXPECT_TRUE(contains(error_of([&] { parse_device_profile(text, "p.json"); }).where(), "/concurrencies/0/gemms/0"));
}

// Samples from a file are data, never a reason for a check to fail later.
TEST(DeviceProfile, SamplesThatCannotBeMeasuredAreErrorsAtTheirPlace) {
  const auto refused = [](const std::function<void(Concurrency&)>& spoil) {
    DeviceProfile profile = small_profile();
    spoil(std::get<MeasuredProfile>(profile.data).concurrencies[0]);
    return error_of([&] { parse_device_profile(to_json(profile), "p.json"); }).where();
  };
  EXPECT_EQ(refused([](Concurrency& set) { set.attentions[0].attention.keys = 63; }),
            "p.json#/concurrencies/0/attentions/0/keys");
  EXPECT_EQ(refused([](Concurrency& set) { set.attentions[0].attention.sequences = std::int64_t{1} << 50; }),
            "p.json#/concurrencies/0/attentions/0");
  EXPECT_EQ(refused([](Concurrency& set) { set.gemms[0].gemm.m = std::int64_t{1} << 50; }),
            "p.json#/concurrencies/0/gemms/0");
  EXPECT_EQ(refused([](Concurrency& set) { set.collectives[0].payload = ByteCount(std::int64_t{1} << 60); }),
            "p.json#/concurrencies/0/collectives/0/payload_bytes");
}

// Exact, or else the next more crowded set, or else the most crowded.
TEST(DeviceProfile, TheSetForANumberOfRanksIsTheNearestAtLeastAsCrowded) {
  MeasuredProfile measured;
  for (const int ranks : {1, 2, 4}) {
    measured.concurrencies.emplace_back().ranks_at_once = ranks;
  }
  EXPECT_EQ(measured.at(2).ranks_at_once, 2);
  EXPECT_EQ(measured.at(3).ranks_at_once, 4);
  EXPECT_EQ(measured.at(9).ranks_at_once, 4);
  EXPECT_THROW(MeasuredProfile{}.at(1), Error);
}

TEST(DeviceProfile, TheShippedAcceleratorAndClusterAreReadWithTheirSources) {
  const std::string models = std::string(TRAINYARD_SOURCE_DIR) + "/models/";
  const Accelerator h100 = read_accelerator(models + "accelerators/h100-sxm.json");
  const Fabric fabric = read_fabric(models + "clusters/llama3-16k-h100.json");
  EXPECT_EQ(fabric.accelerator, h100.name);
  EXPECT_DOUBLE_EQ(h100.peak(DataType::kBf16).si(), 989.4e12);
  EXPECT_DOUBLE_EQ(fabric.nic_bandwidth.value.si(), 50e9);
  EXPECT_TRUE(contains(fabric.nic_bandwidth.source, "Grattafiori"));
  EXPECT_THROW(h100.peak(DataType::kInt64), Error);
}

}  // namespace
}  // namespace trainyard
