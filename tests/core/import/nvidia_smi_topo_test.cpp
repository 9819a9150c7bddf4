#include "core/import/nvidia_smi_topo.h"

#include <gtest/gtest.h>

#include "tests/core/import/import_facts.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

// As nvidia-smi writes it: tabs, an underlined header, a legend of NICs. GPU0 and NIC0 share a switch; the other
// GPU is one switch further (PXB), NIC1 on the other CPU.
constexpr const char* kTwoGpus =
    "GPU 0: NVIDIA B200 (UUID: GPU-1)\n"
    "GPU 1: NVIDIA B200 (UUID: GPU-2)\n"
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tPIX\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tPXB\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "NIC0\tPIX\tPXB\t X \tSYS\t\t\t\n"
    "NIC1\tSYS\tSYS\tSYS\t X \t\t\t\n"
    "\n"
    "Legend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n";

TEST(NvidiaSmiTopo, BuildsSwitchesCpusAndNvlinks) {
  const Cluster node = import_nvidia_smi_topo(kTwoGpus, "topo.txt");
  EXPECT_EQ(count(node, VertexKind::kGpu), 2U);
  EXPECT_EQ(count(node, VertexKind::kNic), 2U);
  EXPECT_EQ(count(node, VertexKind::kCpu), 2U);
  EXPECT_EQ(count(node, VertexKind::kPcieSwitch), 2U);  // one of GPU0 and NIC0, one above it and GPU1
  EXPECT_EQ(links_between(node, "node0/gpu0", "node0/pcie1").size(), 1U);
  EXPECT_EQ(links_between(node, "node0/mlx5_0", "node0/pcie1").size(), 1U);
  EXPECT_EQ(links_between(node, "node0/pcie1", "node0/pcie0").size(), 1U);
  EXPECT_EQ(links_between(node, "node0/gpu1", "node0/pcie0").size(), 1U);
  EXPECT_EQ(links_between(node, "node0/pcie0", "node0/cpu0").size(), 1U);
  EXPECT_EQ(links_between(node, "node0/mlx5_bond_0", "node0/cpu1").size(), 1U);
  // 18 links to one peer are what a GPU has: no NVSwitch needed. B200: 50 GB/s a link.
  EXPECT_EQ(count(node, VertexKind::kNvswitch), 0U);
  EXPECT_DOUBLE_EQ(gigabytes(links_between(node, "node0/gpu0", "node0/gpu1").at(0).bandwidth), 900.0);
  EXPECT_EQ(node.type(node.gpus()[0]).name, "NVIDIA B200");
}

// 3 peers x 12 links are more than a GPU has.
TEST(NvidiaSmiTopo, TakesMoreLinksThanAGpuHasForAnNvswitch) {
  const std::string_view text =
      "     GPU0 GPU1 GPU2 GPU3 CPU Affinity NUMA Affinity\n"
      "GPU0  X   NV12 NV12 NV12 0-23 0\n"
      "GPU1 NV12  X   NV12 NV12 0-23 0\n"
      "GPU2 NV12 NV12  X   NV12 24-47 1\n"
      "GPU3 NV12 NV12 NV12  X   24-47 1\n";
  const Cluster node = import_nvidia_smi_topo(text, "topo.txt");
  EXPECT_EQ(count(node, VertexKind::kNvswitch), 1U);
  EXPECT_DOUBLE_EQ(gigabytes_at(node, node.gpus()[3], LinkKind::kNvlink), 300.0);  // A100: 12 x 25 GB/s
  EXPECT_EQ(count(node, VertexKind::kCpu), 2U);
  EXPECT_TRUE(has_note(node, "generation 4 x16"));
}

TEST(NvidiaSmiTopo, SaysWhatIsWrongAndWhere) {
  const auto refused = [](const std::string& row0, const std::string& row1) {
    return error_of([&] { import_nvidia_smi_topo("\tGPU0\tGPU1\tCPU Affinity\n" + row0 + row1, "t.txt"); });
  };
  const Error unknown = refused("GPU0 X FAR\n", "");
  EXPECT_TRUE(contains(unknown.problem(), "\"FAR\" is not a relation"));
  EXPECT_EQ(unknown.where(), "t.txt: line 2");
  EXPECT_TRUE(contains(refused("GPU0 X\n", "").problem(), "1 cells of 2"));
  EXPECT_TRUE(contains(refused("GPU0 X SYS\n", "").problem(), "ends before the row of GPU1"));
  EXPECT_TRUE(contains(refused("GPU0 X SYS\n", "GPU1 NODE X\n").problem(), "disagree"));
  EXPECT_TRUE(contains(refused("GPU0 SYS X\n", "GPU1 X SYS\n").problem(), "the device itself"));
  EXPECT_TRUE(contains(refused("GPU1 X SYS\n", "").problem(), "expected the row of GPU0"));
}

}  // namespace
}  // namespace trainyard
