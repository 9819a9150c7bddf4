#include "simulator/collective/hardware_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace trainyard::simulator {
namespace {

struct Case {
  const char* text;
  GpuGeneration generation;
  NodeLinks links;
  int nics;
  double gbit;
  FabricKind fabric;
};

class HardwareText : public testing::TestWithParam<Case> {};

TEST_P(HardwareText, IsReadAsWritten) {
  const Case& expected = GetParam();
  const std::optional<DescribedSite> described = describe_site(expected.text, 2, 16);
  ASSERT_TRUE(described) << expected.text;
  const CollectiveSite& site = described->site;
  EXPECT_EQ(to_string(site.generation), to_string(expected.generation)) << expected.text;
  EXPECT_EQ(to_string(site.links), to_string(expected.links)) << expected.text;
  EXPECT_EQ(site.nics, expected.nics) << expected.text;
  EXPECT_NEAR(site.nic_rate.si() * 8e-9, expected.gbit, 1e-6) << expected.text;
  EXPECT_EQ(to_string(site.fabric), to_string(expected.fabric)) << expected.text;
}

constexpr auto kSwitch = NodeLinks::kNvswitch;
INSTANTIATE_TEST_SUITE_P(
    Descriptions, HardwareText,
    testing::Values(
        Case{"8x A100-SXM4-40GB (NVSwitch)", GpuGeneration::kAmpere, kSwitch, 8, 200, FabricKind::kInfiniband},
        Case{"p4de.24xlarge A100-80, 4x100G EFA v1", GpuGeneration::kAmpere, kSwitch, 4, 100, FabricKind::kEfaV1},
        Case{"2x p5.48xlarge", GpuGeneration::kHopper, kSwitch, 32, 100, FabricKind::kEfaV2},
        Case{"p5en.48xlarge H200", GpuGeneration::kHopper, kSwitch, 16, 200, FabricKind::kEfaV3},
        Case{"GCP a3-megagpu-8g H100, 8x200G TCPXO", GpuGeneration::kHopper, kSwitch, 8, 200, FabricKind::kTcpxo},
        Case{"OCI BM.GPU.H100.8, RoCE", GpuGeneration::kHopper, kSwitch, 8, 400, FabricKind::kRoce},
        Case{"HGX H100, 8x400G NDR IB", GpuGeneration::kHopper, kSwitch, 8, 400, FabricKind::kInfiniband},
        Case{"p6-b200.48xlarge 8x B200, 8x400G EFA v4", GpuGeneration::kBlackwell, kSwitch, 8, 400, FabricKind::kEfaV4},
        Case{"OCI BM.GPU.B300.8", GpuGeneration::kBlackwell, kSwitch, 8, 800, FabricKind::kRoce},
        Case{"8x MI300X node (xGMI)", GpuGeneration::kMi300, NodeLinks::kXgmi, 8, 400, FabricKind::kInfiniband},
        Case{"V100 node (NVLink2)", GpuGeneration::kVolta, NodeLinks::kCubeMesh, 4, 100, FabricKind::kInfiniband},
        Case{"8x V100, 100G IB", GpuGeneration::kVolta, NodeLinks::kCubeMesh, 1, 100, FabricKind::kInfiniband},
        Case{"8x GPU PCIe Gen5", GpuGeneration::kOther, NodeLinks::kPcie, 0, 0, FabricKind::kInfiniband},
        Case{"ND96amsr_A100_v4, 8x200Gb HDR", GpuGeneration::kAmpere, kSwitch, 8, 200, FabricKind::kInfiniband}));

TEST(HardwareTextPlaces, NvlinkDomainsAreNodes) {
  const auto racks = describe_site("GB200 NVL72 x20 racks + IB", 360, 1440);
  ASSERT_TRUE(racks);
  EXPECT_EQ(racks->site.nodes, 20);
  EXPECT_TRUE(racks->site.nvl_domain);
  const auto partitions = describe_site("GB200, 3 partitions of NVL8 over IB", std::nullopt, 24);
  ASSERT_TRUE(partitions);
  EXPECT_EQ(partitions->site.nodes, 3);
  EXPECT_EQ(partitions->site.nics, 8);  // two trays of four
  EXPECT_EQ(describe_site("GB200 NVL72 NVLink5", std::nullopt, 32)->site.nodes, 1);
}

TEST(HardwareTextPlaces, WhatIsMissingIsAssumedAndSaid) {
  const auto described = describe_site("DGX H100 8x400Gb", std::nullopt, 32);
  ASSERT_TRUE(described);
  EXPECT_EQ(described->site.nodes, 4);
  const auto& assumed = described->assumed;
  EXPECT_NE(std::find(assumed.begin(), assumed.end(), "nodes"), assumed.end());
  EXPECT_EQ(describe_site("2x p5.48xlarge", std::nullopt, std::nullopt)->site.ranks, 16);
}

TEST(HardwareTextPlaces, UnknownHardwareIsNothingAndLongTextIsHarmless) {
  EXPECT_FALSE(describe_site("8 nodes, two switches", 8, std::nullopt));
  EXPECT_FALSE(describe_site("", 1, 8));
  EXPECT_FALSE(describe_site(std::string(100000, 'x'), 1, 8));
  EXPECT_TRUE(describe_site("99999999999x400G", std::nullopt, 8));
}

}  // namespace
}  // namespace trainyard::simulator
