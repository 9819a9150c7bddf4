// Importers of simulators' networks and of hwloc; detection, refusal and combination.
#include <gtest/gtest.h>

#include "core/import/astra_sim.h"
#include "core/import/combine.h"
#include "core/import/detect.h"
#include "core/import/hwloc_xml.h"
#include "core/import/import_topology.h"
#include "core/import/open_cluster.h"
#include "core/import/simai.h"
#include "core/import/text_lines.h"
#include "tests/core/import/import_facts.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

// Hosts of 8 on one switch of 400 GB/s, and for each place in the host a ring over the 4 hosts at 50 GB/s.
TEST(AstraSim, BuildsASwitchInsideAndRingsOfNicsOutside) {
  const Cluster cluster = import_astra_sim(
      "topology: [ Switch, Ring ]  # a comment\nnpus_count: [ 8, 4 ]\nbandwidth: [400, 50 ]\nlatency: [ 936.25, 1000 "
      "]\n",
      "net.yml");
  EXPECT_EQ(cluster.nodes().size(), 4U);
  EXPECT_EQ(cluster.gpus().size(), 32U);
  EXPECT_EQ(count(cluster, VertexKind::kNvswitch), 4U);
  EXPECT_EQ(count(cluster, VertexKind::kNic), 32U);
  EXPECT_EQ(count(cluster, LinkKind::kCable), 32U);  // 8 rings of 4
  EXPECT_DOUBLE_EQ(gigabytes_at(cluster, cluster.gpus()[9], LinkKind::kNvlink), 400.0);
  const auto cable = links_between(cluster, "node0/nic1.3", "node1/nic1.3");
  ASSERT_EQ(cable.size(), 1U);
  EXPECT_DOUBLE_EQ(gigabytes(cable[0].bandwidth), 50.0);
  EXPECT_DOUBLE_EQ(cable[0].latency.si(), 1e-6);
}

// A torus has no switch: all of it joins GPUs directly. 4 x 8: 2 links a GPU in each dimension, each shared by two.
TEST(AstraSim, BuildsATorusOfDirectLinks) {
  const Cluster cluster =
      import_astra_sim("topology: [Ring, Ring]\nnpus_count: [4, 8]\nbandwidth: [80, 80]\nlatency: [1, 1]\n", "net.yml");
  EXPECT_EQ(cluster.nodes().size(), 1U);
  EXPECT_EQ(count(cluster, LinkKind::kNvlink), 64U);
  EXPECT_DOUBLE_EQ(gigabytes_at(cluster, cluster.gpus()[31], LinkKind::kNvlink), 320.0);
}

TEST(AstraSim, SaysWhatIsWrongAndWhere) {
  const auto refused = [](const std::string& text) { return error_of([&] { import_astra_sim(text, "n.yml"); }); };
  const std::string rest = "bandwidth: [1, 1]\nlatency: [1, 1]\n";
  EXPECT_TRUE(contains(refused("topology: [Mesh]\nnpus_count: [4]\n" + rest).problem(), "\"Mesh\" is not a topology"));
  EXPECT_TRUE(contains(refused("topology: [Ring, Ring]\nnpus_count: [4]\n" + rest).problem(), "each dimension"));
  EXPECT_TRUE(contains(refused("topology: [Ring, Ring]\nnpus_count: [99999, 99999]\n" + rest).problem(), "too many"));
  EXPECT_TRUE(contains(refused("topology: [FullyConnected]\nnpus_count: [100000]\n" + rest).problem(), "links"));
  EXPECT_TRUE(contains(refused("topology: [Ring]\nnpus_count: [0]\n" + rest).problem(), "number of NPUs"));
}

// Two hosts of two GPUs, an NVSwitch each, one NIC per GPU on two leaves below a spine.
constexpr const char* kSimai =
    "9 2 2 3 14 H100\n4 5 6 7 8\n"
    "0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n2 5 2880Gbps 0.000025ms 0\n3 5 2880Gbps 0.000025ms 0\n"
    "0 6 200Gbps 0.0005ms 0\n0 7 200Gbps 0.0005ms 0\n1 6 200Gbps 0.0005ms 0\n1 7 200Gbps 0.0005ms 0\n"
    "2 6 200Gbps 0.0005ms 0\n2 7 200Gbps 0.0005ms 0\n3 6 200Gbps 0.0005ms 0\n3 7 200Gbps 0.0005ms 0\n"
    "6 8 400Gbps 500ns 0\n7 8 400Gbps 0.5us 0\n";

TEST(Simai, BuildsHostsWithANicForEachGpu) {
  const Cluster cluster = import_simai(kSimai, "topo.txt");
  EXPECT_EQ(cluster.nodes().size(), 2U);
  EXPECT_EQ(count(cluster, VertexKind::kNvswitch), 2U);
  EXPECT_EQ(count(cluster, VertexKind::kNic), 4U);
  EXPECT_EQ(count(cluster, VertexKind::kLeaf), 2U);
  EXPECT_EQ(count(cluster, VertexKind::kSpine), 1U);
  EXPECT_DOUBLE_EQ(gigabytes_at(cluster, cluster.gpus()[2], LinkKind::kNvlink), 360.0);  // 2880 Gb/s
  const VertexId nic = cluster.find("node1/nic0").value();
  EXPECT_DOUBLE_EQ(gigabytes_at(cluster, nic, LinkKind::kCable), 50.0);  // two ports of 200 Gb/s
  EXPECT_DOUBLE_EQ(links_between(cluster, "switch6", "switch8").at(0).latency.si(), 5e-7);
  EXPECT_DOUBLE_EQ(links_between(cluster, "switch7", "switch8").at(0).latency.si(), 5e-7);
}

TEST(Simai, ReadsHpccsHostsAndSaysWhatIsWrong) {
  const Cluster hpcc = import_simai("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n", "topo.txt");
  EXPECT_EQ(hpcc.nodes().size(), 2U);
  EXPECT_EQ(count(hpcc, VertexKind::kNic), 2U);
  EXPECT_TRUE(hpcc.gpus().empty());
  const auto refused = [](const std::string& text) { return error_of([&] { import_simai(text, "t.txt"); }); };
  const Error speed = refused("3 1 2\n2\n0 2 100 1us 0\n");
  EXPECT_TRUE(contains(speed.problem(), "not a number with its unit"));
  EXPECT_EQ(speed.where(), "t.txt: line 3");
  EXPECT_TRUE(contains(refused("3 1 2\n2\n0 2 100Gbps 1us 0\n").problem(), "the text ends before"));
  EXPECT_TRUE(contains(refused("3 1 2\n7\n").problem(), "the id of a node"));
  EXPECT_TRUE(contains(refused("1000000 8 0 1 1 H100\n").problem(), "can't reach"));
  EXPECT_TRUE(contains(refused("3 3 2\n").problem(), "no node is left"));
  EXPECT_TRUE(contains(refused("3 1 2\n2\n0 0 100Gbps 1us 0\n").problem(), "to itself"));
}

// A root port with one GPU collapses into one link of the slower speed; a bridge with two devices is a switch.
constexpr const char* kHwloc = R"(<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">
 <object type="Machine"><object type="Package" gp_index="1"><info name="CPUVendor" value="AuthenticAMD"/>
  <object type="Bridge" bridge_type="0-1">
   <object type="Bridge" bridge_type="1-1" pci_link_speed="15.753846">
    <object type="PCIDev" gp_index="10" pci_type="0302 [10de:20b2] [0:0] a1 00" pci_link_speed="31.507692">
     <object type="OSDev" gp_index="11" name="nvml0"><info name="GPUModel" value="NVIDIA A100-SXM4-80GB"/></object></object></object>
   <object type="Bridge" bridge_type="1-1" pci_link_speed="31.507692">
    <object type="PCIDev" gp_index="20" pci_type="0302 [10de:20b2] [0:0] a1 00" pci_link_speed="31.507692">
     <object type="OSDev" gp_index="21" name="nvml1"><info name="GPUModel" value="NVIDIA A100-SXM4-80GB"/></object></object>
    <object type="PCIDev" gp_index="30" pci_type="0207 [15b3:101b] [0:0] 00 00" pci_link_speed="31.507692">
     <object type="OSDev" gp_index="31" name="ib0"/><object type="OSDev" gp_index="32" name="mlx5_0"/></object>
    <object type="PCIDev" gp_index="40" pci_type="0300 [1a03:2000] [0:0] 00 00" pci_link_speed="0"/></object></object>
 </object><object type="Package" gp_index="2"><info name="CPUVendor" value="AuthenticAMD"/></object></object>
 <distances2hetero nbobjs="3" name="NVLinkBandwidth"><indexes>OSDev:11 OSDev:21 </indexes><indexes>PCIDev:90 </indexes>
  <u64values>1000000 100000 200000 100000 1000000 0 </u64values><u64values>200000 0 1000000 </u64values></distances2hetero>
</topology>)";

TEST(HwlocXml, CollapsesBridgesAndReadsNvlinkBandwidths) {
  const Cluster node = import_hwloc_xml(kHwloc, "hwloc.xml");
  EXPECT_EQ(count(node, VertexKind::kGpu), 2U);
  EXPECT_EQ(count(node, VertexKind::kNic), 1U);
  EXPECT_EQ(count(node, VertexKind::kPcieSwitch), 1U);
  EXPECT_EQ(count(node, VertexKind::kNvswitch), 1U);
  const Link to_cpu = links_between(node, "node0/gpu0", "node0/cpu0").at(0);
  EXPECT_EQ(to_cpu.generation, std::optional(3));
  EXPECT_EQ(to_cpu.width, 16);
  EXPECT_EQ(links_between(node, "node0/mlx5_0", "node0/pcie0").at(0).generation, std::optional(4));
  EXPECT_EQ(links_between(node, "node0/gpu0", "node0/gpu1").at(0).width, 4);  // 100 GB/s of 25 each
  EXPECT_EQ(links_between(node, "node0/gpu0", "node0/nvswitch0").at(0).width, 8);
  EXPECT_DOUBLE_EQ(gigabytes(links_between(node, "node0/cpu0", "node0/cpu1").at(0).bandwidth), 16.0);
}

TEST(HwlocXml, RefusesAMatrixOfTheWrongSize) {
  const Error error = error_of([] {
    import_hwloc_xml(
        "<topology>\n<distances2 name=\"NVLinkBandwidth\"><indexes>1 2</indexes><u64values>1</u64values>"
        "</distances2></topology>",
        "h.xml");
  });
  EXPECT_TRUE(contains(error.problem(), "2 devices with 1 values"));
  EXPECT_EQ(error.where(), "h.xml: line 2, <distances2>");
}

TEST(Detect, KnowsEachKindByItsContent) {
  EXPECT_EQ(detect_topology("<?xml version=\"1.0\"?>\n<!-- <x> -->\n<system version=\"1\">"), TopologyKind::kNcclXml);
  EXPECT_EQ(detect_topology("<!DOCTYPE topology SYSTEM \"hwloc2.dtd\"><topology>"), TopologyKind::kHwlocXml);
  EXPECT_EQ(detect_topology("<html>"), TopologyKind::kOtherXml);
  EXPECT_EQ(detect_topology("\t\x1b[4mGPU0\tGPU1"), TopologyKind::kNvidiaSmiTopo);
  EXPECT_EQ(detect_topology("vendid=0x2c9\nSwitch\t65 \"S-1\""), TopologyKind::kIbnetdiscover);
  EXPECT_EQ(detect_topology("# x\nSWITCHNAME=a Nodes=b"), TopologyKind::kSlurm);
  EXPECT_EQ(detect_topology("[{\"links\": [{\"compounded_links\": []}]}]"), TopologyKind::kNetq);
  EXPECT_EQ(detect_topology("# busbw in a comment\ntopology: [ Ring ]"), TopologyKind::kAstraSim);
  EXPECT_EQ(detect_topology("switches:\n"), TopologyKind::kTopographYaml);
  EXPECT_EQ(detect_topology("96 8 8 24 256 H800\n"), TopologyKind::kSimai);
  EXPECT_EQ(detect_topology("{\"document\": \"topology\"}"), TopologyKind::kTopology);
  EXPECT_EQ(detect_topology("host:1:1 [0] NCCL INFO Bootstrap"), TopologyKind::kNcclLog);
  EXPECT_EQ(detect_topology("#  size  count  type  algbw   busbw"), TopologyKind::kNcclTestsResult);
  EXPECT_EQ(detect_topology(""), TopologyKind::kUnknown);
}

TEST(ImportTopology, SendsMeasurementsToTheVerbThatTakesThem) {
  EXPECT_TRUE(contains(error_of([] { import_topology("# size algbw busbw\n", "log"); }).hint(), "validate --anchor"));
  EXPECT_TRUE(contains(error_of([] { import_topology("a [0] NCCL INFO x\n", "log"); }).problem(), "log of NCCL"));
  EXPECT_TRUE(contains(error_of([] { import_topology("hello\n", "x"); }).hint(), "ibnetdiscover"));
}

// ---- A node's file and a fabric's -----------------------------------------------------------------------------

std::string node_with_nics(const std::vector<std::string>& names) {
  std::string text = "<system><cpu numaid=\"0\">";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string number = std::to_string(i);
    text += "<pci busid=\"0000:0" + number + ":00.0\" class=\"0x030200\"><gpu dev=\"" + number + "\"/></pci>";
    text += "<pci busid=\"0000:1" + number + ":00.0\" class=\"0x020700\"><nic><net name=\"" + names[i] + "\" dev=\"" +
            number + "\" speed=\"200000\"/></nic></pci>";
  }
  return text + "</cpu></system>";
}

std::string fabric_with(const std::vector<std::string>& adapters, const std::string& rate = "4xNDR") {
  std::string text = "Switch 40 \"S\"\n";
  std::string ends;
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    text += std::string("[").append(number).append("] \"H").append(number).append("\"[1] # ").append(rate) + "\n";
    ends += std::string("Ca 1 \"H").append(number).append("\" # \"").append(adapters[i]) + "\"\n";
  }
  return text + ends;
}

Cluster combined(const std::string& node, const std::string& fabric) {
  return combine(import_topology(node, "node"), import_topology(fabric, "fabric"), "both");
}

TEST(Combine, GivesEveryHostTheNodesInsideByTheNamesOfItsNics) {
  const Cluster cluster = combined(node_with_nics({"mlx5_0", "mlx5_1", "mlx5_2"}),
                                   fabric_with({"a mlx5_1", "a mlx5_0", "a mlx5_2", "b mlx5_0", "b mlx5_2"}));
  EXPECT_EQ(cluster.nodes(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(cluster.gpus().size(), 6U);
  EXPECT_EQ(count(cluster, VertexKind::kNic), 5U);  // b has two cabled
  EXPECT_EQ(cluster.vertex(cluster.find("a/mlx5_1").value()).rail, std::optional(1));
  EXPECT_EQ(links_between(cluster, "a/mlx5_1", "S").size(), 1U);
  EXPECT_EQ(links_between(cluster, "a/mlx5_1", "a/cpu0").size(), 1U);
  EXPECT_EQ(links_between(cluster, "b/gpu1", "b/cpu0").size(), 1U);
  EXPECT_DOUBLE_EQ(gigabytes(links_between(cluster, "b/mlx5_0", "S").at(0).bandwidth), 50.0);  // the fabric's rate
  EXPECT_TRUE(has_note(cluster, "left out over all hosts: 1"));
}

// Over the fabric there are the numbers 0, 1 and 4 (HCA-5); the node has three NICs. Host b lacks the middle one.
TEST(Combine, MatchesNumbersInTheirOrderAlsoWhereAHostLacksOne) {
  const Cluster cluster = combined(node_with_nics({"ib0", "ib1", "ib2"}),
                                   fabric_with({"a HCA-1", "a HCA-2", "a HCA-5", "b HCA-1", "b HCA-5"}));
  EXPECT_EQ(cluster.vertex(cluster.find("b/HCA-5").value()).rail, std::optional(2));
  EXPECT_EQ(cluster.vertex(cluster.find("a/HCA-2").value()).rail, std::optional(1));
}

// Three hosts with four NICs, one with two: it manages the fabric. The leaf serves several rails.
TEST(Combine, LeavesHostsWithFewNicsWithoutGpus) {
  std::vector<std::string> adapters = {"ufm mlx5_0", "ufm mlx5_1"};
  for (const char* host : {"a", "b", "c"}) {
    for (int nic = 0; nic < 4; ++nic) {
      adapters.push_back(std::string(host).append(" mlx5_").append(std::to_string(nic)));
    }
  }
  const Cluster cluster = combined(node_with_nics({"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}), fabric_with(adapters));
  EXPECT_EQ(cluster.nodes().size(), 4U);
  EXPECT_EQ(cluster.gpus().size(), 12U);
  EXPECT_FALSE(cluster.find("ufm/gpu0"));
  EXPECT_EQ(links_between(cluster, "ufm/mlx5_1", "S").size(), 1U);
  EXPECT_TRUE(has_note(cluster, "taken for servers without GPUs: 1"));
  EXPECT_EQ(cluster.vertex(cluster.find("S").value()).rail, std::nullopt);
}

TEST(Combine, SaysWhichHostDoesNotFit) {
  const Error error = error_of([] {
    combined(node_with_nics({"a", "b", "c"}), fabric_with({"x left", "x right1", "y left1"}));
  });
  EXPECT_TRUE(contains(error.problem(), "NICs in the fabric")) << error.problem();
  EXPECT_TRUE(
      contains(error_of([] { combined(fabric_with({"a b0"}), fabric_with({"a b0"})); }).problem(), "outside the host"));
  EXPECT_TRUE(contains(error_of([] { combined(node_with_nics({}), fabric_with({"a b0"})); }).problem(), "no GPU"));
  EXPECT_TRUE(contains(error_of([] { combined(node_with_nics({"a"}), kSimai); }).problem(), "have GPUs already"));
}

// Slurm knows hosts: both NICs of each go to its leaf, at the NICs' 200 Gb/s; 2 hosts x 2 NICs need 4 cables up.
TEST(Combine, ExpandsHostsOfFilesThatKnowNoNics) {
  const Cluster cluster = combined(node_with_nics({"mlx5_0", "mlx5_1"}),
                                   "SwitchName=top Switches=leaf[1-2]\nSwitchName=leaf1 Nodes=n[1-2]\n"
                                   "SwitchName=leaf2 Nodes=n3\n");
  EXPECT_EQ(count(cluster, VertexKind::kNic), 6U);
  EXPECT_DOUBLE_EQ(gigabytes(links_between(cluster, "n1/mlx5_1", "leaf1").at(0).bandwidth), 25.0);
  const Link up = links_between(cluster, "leaf1", "top").at(0);
  EXPECT_EQ(up.width, 4);
  EXPECT_DOUBLE_EQ(gigabytes(up.bandwidth), 100.0);
  EXPECT_TRUE(has_note(cluster, "the node's fastest NIC, 25 GB/s"));
}

TEST(OpenCluster, TakesAFileABuilderOrSaysWhatThereIs) {
  const TemporaryFolder folder;
  const std::string fabric = folder.write("ib.out", fabric_with({"a mlx5_0", "b mlx5_0"})).string();
  const std::string node = folder.write("topo.xml", node_with_nics({"mlx5_0"})).string();
  EXPECT_TRUE(open_cluster(fabric).gpus().empty());
  EXPECT_EQ(open_cluster(fabric, node).gpus().size(), 2U);
  EXPECT_FALSE(open_cluster("nvl72").gpus().empty());
  const Error error = error_of([] { open_cluster("superpod-h10"); });
  EXPECT_TRUE(contains(error.hint(), "did you mean superpod-h100?"));
  EXPECT_TRUE(contains(error.hint(), "nvidia-smi topo -m"));
  EXPECT_TRUE(contains(error_of([&] { open_cluster(folder.path().string()); }).problem(), "folder"));
}

TEST(TextLines, ComparesNumbersInNames) {
  EXPECT_TRUE(natural_less("gpu2", "gpu10"));
  EXPECT_FALSE(natural_less("gpu10", "gpu2"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("n01x", "n1y"));
  EXPECT_FALSE(natural_less("n1", "n1"));
}

}  // namespace
}  // namespace trainyard
