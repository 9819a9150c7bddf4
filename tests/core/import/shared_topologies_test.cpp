// The collection of published topology files, where this machine has it: every file imports with the counts that its
// text has, or is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/import/combine.h"
#include "core/import/import_topology.h"
#include "tests/core/import/import_facts.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

class SharedTopologies : public testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("TRAINYARD_TOPOLOGIES");
    folder_ = given != nullptr ? given : std::filesystem::path(TRAINYARD_SOURCE_DIR) / "../shared/topologies";
    if (!std::filesystem::exists(folder_ / "MANIFEST.json")) {
      GTEST_SKIP() << "no topologies/MANIFEST.json; TRAINYARD_TOPOLOGIES names the folder";
    }
  }
  Cluster read(const std::string& file) const { return read_any_topology(folder_ / file); }
  std::filesystem::path folder_;
};

struct Counts {
  const char* file;
  std::size_t nodes;
  std::size_t gpus;
  std::size_t nics;
  std::size_t nvswitches;
  std::size_t pcie_switches;
  std::size_t leaves;
  std::size_t spines;
  std::size_t cores;
};

TEST_F(SharedTopologies, HaveTheCountsOfTheirFiles) {
  for (const Counts& expected : {
           Counts{"nccl-xml/azure-ndv2-topo.xml", 1, 8, 1, 0, 0, 0, 0, 0},
           Counts{"nccl-xml/azure-ndv4-topo.xml", 1, 8, 8, 0, 4, 0, 0, 0},
           Counts{"nccl-xml/azure-ndv5-topo.xml", 1, 8, 8, 0, 8, 0, 0, 0},
           Counts{"nccl-xml/aws-p4d-24xl-topo.xml", 1, 8, 4, 0, 4, 0, 0, 0},
           Counts{"nccl-xml/oci-topo-flattened-b4.xml", 1, 8, 8, 0, 4, 0, 0, 0},
           Counts{"nccl-xml/rccl-topo_16p1h_vm.xml", 1, 16, 8, 0, 0, 0, 0, 0},
           Counts{"nccl-xml/rccl-topo_8p_90a.xml", 1, 8, 1, 0, 1, 0, 0, 0},
           Counts{"nccl-xml/rccl-topo_8p1h_4.xml", 1, 8, 8, 0, 22, 0, 0, 0},
           Counts{"nccl-xml/rccl-topo_8p_rome_pcie.xml", 1, 8, 2, 0, 9, 0, 0, 0},  // 8, and the card of two ports
           Counts{"hwloc-xml/nvidiaDGX2.xml", 1, 16, 0, 12, 12, 0, 0, 0},
           Counts{"hwloc-xml/power8gpudistances.xml", 1, 4, 0, 0, 0, 0, 0, 0},
           Counts{"nvidia-smi-topo/mleng-3-8x-a100-nv12-2-numa.txt", 1, 8, 0, 1, 0, 0, 0, 0},
           Counts{"nvidia-smi-topo/stelline-asus-esc8000a-4xrtx6000ada-2xdualportcx.txt", 1, 4, 4, 0, 2, 0, 0, 0},
           // 542 of the 582 adapters; the others are aggregation nodes. 122 hosts have a name.
           Counts{"ibnetdiscover/topograph-dgx-ndr-superpod.out", 122, 0, 542, 0, 0, 31, 9, 0},
           Counts{"ibnetdiscover/ibsim-net_2sw2path4hca2port.net", 2, 0, 4, 0, 0, 2, 0, 0},
           Counts{"slurm/slurm-testsuite-case3-topology.conf", 400, 0, 400, 0, 0, 20, 2, 1},
           Counts{"slurm/topograph-tree-oci.conf", 96, 0, 96, 0, 0, 12, 6, 1},
           Counts{"slurm/topograph-block-dra.conf", 96, 0, 96, 0, 0, 12, 1, 0},
           Counts{"netq-json/topograph-netq-topologyGraph.json", 8, 0, 32, 0, 0, 2, 1, 0},
           Counts{"topograph-yaml/dual-xclr-regular.yaml", 96, 0, 96, 0, 0, 12, 6, 1},
           Counts{"simai/Spectrum-X_64g_8gps_400Gbps_H100.txt", 8, 64, 64, 8, 0, 8, 8, 0},
           Counts{"simai/AlibabaHPN_64g_8gps_DualToR_DualPlane_200Gbps_H800.txt", 8, 64, 64, 8, 0, 16, 8, 0},
           Counts{"astra-sim/hgx_h100_32gpu.yml", 4, 32, 32, 4, 0, 0, 0, 0},
           Counts{"astra-sim/tpu_v3_32_2dtorus.yml", 1, 32, 0, 0, 0, 0, 0, 0},
       }) {
    const Cluster cluster = read(expected.file);
    EXPECT_EQ(cluster.nodes().size(), expected.nodes) << expected.file;
    EXPECT_EQ(count(cluster, VertexKind::kGpu), expected.gpus) << expected.file;
    EXPECT_EQ(count(cluster, VertexKind::kNic), expected.nics) << expected.file;
    EXPECT_EQ(count(cluster, VertexKind::kNvswitch), expected.nvswitches) << expected.file;
    EXPECT_EQ(count(cluster, VertexKind::kPcieSwitch), expected.pcie_switches) << expected.file;
    EXPECT_EQ(count(cluster, VertexKind::kLeaf), expected.leaves) << expected.file;
    EXPECT_EQ(count(cluster, VertexKind::kSpine), expected.spines) << expected.file;
    EXPECT_EQ(count(cluster, VertexKind::kCore), expected.cores) << expected.file;
  }
}

TEST_F(SharedTopologies, HaveTheRatesOfTheirHardware) {
  const Cluster a100 = read("nvidia-smi-topo/mleng-3-8x-a100-nv12-2-numa.txt");
  EXPECT_DOUBLE_EQ(gigabytes_at(a100, a100.gpus()[0], LinkKind::kNvlink), 300.0);
  const Cluster h100 = read("nvidia-smi-topo/mleng-4-8x-h100-nv18-2-numa.txt");
  EXPECT_DOUBLE_EQ(gigabytes_at(h100, h100.gpus()[7], LinkKind::kNvlink), 450.0);
  const Cluster dgx2 = read("hwloc-xml/nvidiaDGX2.xml");
  EXPECT_DOUBLE_EQ(gigabytes_at(dgx2, dgx2.gpus()[0], LinkKind::kNvlink), 150.0);
  const Cluster power8 = read("hwloc-xml/power8gpudistances.xml");
  EXPECT_DOUBLE_EQ(gigabytes_at(power8, power8.gpus()[0], LinkKind::kNvlink), 80.0);
  const Cluster superpod = read("ibnetdiscover/topograph-dgx-ndr-superpod.out");
  EXPECT_DOUBLE_EQ(
      gigabytes(links_between(superpod, "a08-p1-dgx-04-c01/mlx5_5", "A09-P1-IBLEAF-04-04").at(0).bandwidth), 50.0);
  const Cluster mi200 = read("nccl-xml/rccl-topo_16p1h_vm.xml");
  EXPECT_EQ(mi200.type(mi200.find("node0/mlx5_1").value()).port_rate, std::optional(200_Gbps));
  EXPECT_DOUBLE_EQ(gigabytes_at(mi200, mi200.gpus()[0], LinkKind::kXgmi), 350.0);  // 7 links of 50 GB/s
  const Cluster ndv5 = read("nccl-xml/azure-ndv5-topo.xml");
  EXPECT_EQ(ndv5.type(ndv5.of_kind(VertexKind::kNic)[0]).port_rate, std::optional(10_Gbps));
}

TEST_F(SharedTopologies, AllImportAndRoundTripOrAreRefusedWithAPlaceAndAWayOut) {
  std::ifstream manifest(folder_ / "MANIFEST.json");
  std::vector<std::string> refused;
  int imported = 0;
  for (const nlohmann::json& entry : nlohmann::json::parse(manifest)) {
    const std::string file = entry["file"].get<std::string>();
    try {
      const Cluster cluster = read(file);
      EXPECT_EQ(parse_topology(to_json(cluster), file), cluster) << file;
      ++imported;
    } catch (const Error& error) {
      EXPECT_TRUE(contains(error.where(), file)) << file;
      EXPECT_FALSE(error.hint().empty()) << file;
      if (!file.starts_with("nccl-tests/") && !file.starts_with("nccl-logs/")) {
        refused.push_back(file);
      }
    }
  }
  EXPECT_GE(imported, 60);
  // Devices without a class; a map of GPUs to NICs; routes between NICs without the switches' names.
  EXPECT_EQ(refused, (std::vector<std::string>{"nccl-xml/aws-g5.48xl-topo.xml", "nccl-xml/flagcx-topo_demo.xml",
                                               "nccl-xml/flagcx-interserver_route.xml"}));
}

TEST_F(SharedTopologies, ANodeAndAFabricCombine) {
  const Cluster cluster =
      combine(read("nccl-xml/rccl-topo_collnet_n4.xml"), read("ibnetdiscover/topograph-dgx-ndr-superpod.out"), "both");
  EXPECT_EQ(cluster.nodes().size(), 122U);
  EXPECT_EQ(cluster.gpus().size(), 120U * 8U);  // two hosts with 2 of the usual 4 NICs manage the fabric
  // Leaves of the second rail serve HCA-2 and mlx5_1.
  EXPECT_EQ(cluster.vertex(cluster.find("B09-P1-IBLEAF-02-07").value()).rail, std::optional(1));
  EXPECT_EQ(count(cluster, VertexKind::kNic), 542U);
  EXPECT_EQ(count(cluster, VertexKind::kLeaf), 31U);
}

}  // namespace
}  // namespace trainyard
