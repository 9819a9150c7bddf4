// Importers of fabrics: ibnetdiscover, Slurm, NetQ, topograph.
#include <gtest/gtest.h>

#include "core/import/host_list.h"
#include "core/import/ibnetdiscover.h"
#include "core/import/netq.h"
#include "core/import/slurm_topology.h"
#include "core/import/topograph_yaml.h"
#include "tests/core/import/import_facts.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

// Two leaves below one spine, two cables each; a host on each leaf, one adapter nobody named, one inside a switch.
constexpr const char* kFabric = R"(# Topology file
vendid=0x2c9
Switch	65 "S-1"		# "MF0;leaf-1:MQM9701/U1" enhanced port 0 lid 73 lmc 0
[1]	"H-10"[1](10) 		# "node10 mlx5_0" lid 647 4xNDR
[2]	"H-12"[1](12) 		# "MT4129 ConnectX7   Mellanox Technologies" lid 4 4xHDR
[35]	"S-3"[1]		# "MF0;spine-1:MQM9701/U1" lid 236 4xNDR
[36]	"S-3"[2]		# "MF0;spine-1:MQM9701/U1" lid 236 4xNDR
[65]	"H-99"[1](99) 		# "Mellanox Technologies Aggregation Node" lid 193 4xNDR

Switch	65 "S-2"		# "MF0;leaf-2:MQM9701/U1" enhanced port 0 lid 74 lmc 0
[1]	"H-11"[1](11) 		# "node9 mlx5_0" lid 648 4xNDR
[35]	"S-3"[3]		# "MF0;spine-1:MQM9701/U1" lid 236 4xNDR
[36]	"S-3"[4]		# "MF0;spine-1:MQM9701/U1" lid 236 4xNDR

Switch	65 "S-3"		# "MF0;spine-1:MQM9701/U1" enhanced port 0 lid 236 lmc 0
[1]	"S-1"[35]		# "MF0;leaf-1:MQM9701/U1" lid 73 4xNDR
[3]	"S-2"[35]		# "MF0;leaf-2:MQM9701/U1" lid 74 4xNDR

Ca	1 "H-10"		# "node10 mlx5_0"
[1](10) 	"S-1"[1]		# lid 647 lmc 0 "MF0;leaf-1:MQM9701/U1" lid 73 4xNDR
Ca	1 "H-11"		# "node9 mlx5_0"
Ca	1 "H-12"		# "MT4129 ConnectX7   Mellanox Technologies"
Ca	1 "H-99"		# "Mellanox Technologies Aggregation Node"
)";

TEST(Ibnetdiscover, LevelsSwitchesAndBundlesCables) {
  const Cluster fabric = import_ibnetdiscover(kFabric, "ib.out");
  EXPECT_EQ(count(fabric, VertexKind::kLeaf), 2U);
  EXPECT_EQ(count(fabric, VertexKind::kSpine), 1U);
  EXPECT_EQ(count(fabric, VertexKind::kNic), 3U);
  EXPECT_EQ(fabric.nodes(), (std::vector<std::string>{"node9", "node10"}));  // by number
  EXPECT_EQ(fabric.congestion_control, std::optional(CongestionControl::kCredit));
  const auto up = links_between(fabric, "leaf-1", "spine-1");
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(up[0].width, 2);  // one of the two listed by both ends
  EXPECT_DOUBLE_EQ(gigabytes(up[0].bandwidth), 100.0);
  EXPECT_DOUBLE_EQ(gigabytes(links_between(fabric, "node10/mlx5_0", "leaf-1").at(0).bandwidth), 50.0);
  EXPECT_DOUBLE_EQ(gigabytes(links_between(fabric, "H-12", "leaf-1").at(0).bandwidth), 25.0);
  EXPECT_EQ(fabric.vertex(fabric.find("leaf-2").value()).rail, std::optional(0));
  EXPECT_EQ(fabric.type(fabric.find("leaf-2").value()).name, "Quantum-2 QM9700");
  EXPECT_FALSE(fabric.vertex(fabric.find("H-12").value()).node);
}

TEST(Ibnetdiscover, KnowsTheRatesOfPorts) {
  EXPECT_EQ(infiniband_rate("4xXDR"), std::optional(800_Gbps));
  EXPECT_EQ(infiniband_rate("4xNDR"), std::optional(400_Gbps));
  EXPECT_EQ(infiniband_rate("2xHDR"), std::optional(100_Gbps));
  EXPECT_EQ(infiniband_rate("4xFDR10"), std::optional(40_Gbps));
  EXPECT_EQ(infiniband_rate("4xABC"), std::nullopt);
  EXPECT_EQ(infiniband_rate("73"), std::nullopt);
}

TEST(Ibnetdiscover, SaysWhatIsWrongAndWhere) {
  const auto refused = [](const std::string& text) { return error_of([&] { import_ibnetdiscover(text, "ib.out"); }); };
  const Error absent = refused("Switch 2 \"S\"\n[1] \"H\"[1]\n");
  EXPECT_TRUE(contains(absent.problem(), "\"H\" is not listed"));
  EXPECT_EQ(absent.where(), "ib.out: line 2");
  EXPECT_TRUE(contains(refused("Switch 2 \"S\"\n[3] \"H\"[1]\nCa 1 \"H\"\n").problem(), "2 ports, not 3"));
  EXPECT_TRUE(contains(refused("Switch 2 \"S\"\nSwitch 2 \"S\"\n").problem(), "listed twice"));
  EXPECT_TRUE(contains(refused("Switch 2 \"S\"\n[1] \"H\"[1]\nCa 1 \"H\"\n[1] \"S\"[2]\n").problem(), "as well as"));
  EXPECT_TRUE(contains(refused("[1] \"H\"[1]\n").problem(), "before any"));
  EXPECT_TRUE(contains(refused("Switch 2 \"S\"\nnonsense\n").problem(), "no line of ibnetdiscover"));
  EXPECT_TRUE(contains(refused("# nothing\n").problem(), "no switch"));
}

TEST(HostList, ExpandsRangesWithTheirZerosAndSeveralBrackets) {
  EXPECT_EQ(expand_host_list("a[08-10],b", "t", 10), (std::vector<std::string>{"a08", "a09", "a10", "b"}));
  EXPECT_EQ(expand_host_list("r[1,3]n[1-2]x", "t", 10), (std::vector<std::string>{"r1n1x", "r1n2x", "r3n1x", "r3n2x"}));
  for (const char* broken : {"a[1-2", "a]1[", "a[2-1]", "a[x]", "a,,b", "a[1-99]", "a[1-9]b[1-9]c[1-9]"}) {
    EXPECT_FALSE(error_of([&] { expand_host_list(broken, "t", 50); }).problem().empty()) << broken;
  }
}

// 4 hosts below leaf1 and 2 below leaf2: as many cables up, so nothing is oversubscribed.
TEST(SlurmTopology, ReadsATree) {
  const Cluster fabric = import_slurm_topology(
      "# comment\nSwitchName=top Switches=leaf[1-2]\nswitchname=leaf1 nodes=n[01-04] LinkSpeed=1\n"
      "SwitchName=leaf2 Nodes=n[05-06]\n",
      "topology.conf");
  EXPECT_EQ(fabric.nodes().size(), 6U);
  EXPECT_EQ(count(fabric, VertexKind::kLeaf), 2U);
  EXPECT_EQ(count(fabric, VertexKind::kSpine), 1U);
  EXPECT_EQ(links_between(fabric, "leaf1", "top").at(0).width, 4);
  EXPECT_EQ(links_between(fabric, "leaf2", "top").at(0).width, 2);
  EXPECT_TRUE(has_note(fabric, "not oversubscribed"));
}

TEST(SlurmTopology, ReadsBlocksAndWhatScontrolPrints) {
  const Cluster blocks =
      import_slurm_topology("BlockName=a Nodes=n[1-2]\nBlockName=b Nodes=n[3-4]\nBlockSizes=2,4\n", "topology.conf");
  EXPECT_EQ(count(blocks, VertexKind::kLeaf), 2U);
  EXPECT_EQ(count(blocks, VertexKind::kSpine), 1U);
  EXPECT_EQ(blocks.nodes().size(), 4U);
  const Cluster shown = import_slurm_topology(
      "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-2] "
      "Switches=leaf1\n",
      "scontrol");
  EXPECT_EQ(links_between(shown, "n1", "top").size(), 0U);
  EXPECT_EQ(links_between(shown, "leaf1", "top").at(0).width, 2);
}

TEST(SlurmTopology, SaysWhatIsWrongAndWhere) {
  const auto refused = [](const std::string& text) { return error_of([&] { import_slurm_topology(text, "t.conf"); }); };
  const Error absent = refused("\nSwitchName=top Switches=leaf1\n");
  EXPECT_TRUE(contains(absent.problem(), "\"leaf1\" below \"top\" is not defined"));
  EXPECT_EQ(absent.where(), "t.conf: line 2");
  EXPECT_TRUE(contains(refused("SwitchName=a Switches=b\nSwitchName=b Switches=a\n").problem(), "below itself"));
  EXPECT_TRUE(contains(refused("SwitchName=a Nodes=n\nSwitchName=a Nodes=m\n").problem(), "defined twice"));
  EXPECT_TRUE(contains(refused("SwitchName=a Hosts=n\n").problem(), "nothing that topology.conf has"));
  EXPECT_TRUE(contains(refused("SwitchName=a Nodes=n[1-99999999]\n").problem(), "names"));
  // More than kImportHostLimit, 65,536, in one list or in several.
  EXPECT_TRUE(contains(refused("SwitchName=a Nodes=n[1-70000]\n").problem(), "names"));
  EXPECT_TRUE(contains(refused("SwitchName=a Nodes=n[1-40000]\nSwitchName=b Nodes=m[1-40000]\n").problem(), "names"));
  EXPECT_TRUE(contains(refused("SwitchName=a Nodes=n\nBlockName=b Nodes=m\n").problem(), "as well as"));
}

TEST(TopographYaml, ReadsSwitchesBlocksAndDomains) {
  const Cluster fabric = import_topograph_yaml(
      "switches:\n  core:\n    switches: [sw1, sw2]\n  sw1:\n    switches: [rack1, rack2]\n"
      "blocks:\n- switch: rack1\n  nodes: [\"n[1-3]\"]\n  annotations:\n    x/domain: d1\n- switch: sw2\n  nodes: "
      "[m1]\n",
      "model.yaml");
  EXPECT_EQ(fabric.nodes().size(), 4U);
  EXPECT_EQ(count(fabric, VertexKind::kLeaf), 3U);  // rack1, rack2 without hosts, sw2
  EXPECT_EQ(count(fabric, VertexKind::kSpine), 1U);
  EXPECT_EQ(count(fabric, VertexKind::kCore), 1U);
  EXPECT_TRUE(has_note(fabric, "by their annotations: 1"));
}

TEST(TopographYaml, RefusesWhatYamlCanHide) {
  const auto refused = [](const std::string& text) { return error_of([&] { import_topograph_yaml(text, "m.yaml"); }); };
  EXPECT_TRUE(contains(refused("blocks: &a\n- switch: *a\n").problem(), "an anchor"));
  EXPECT_TRUE(contains(refused("switches: !!str x\n").problem(), "a tag"));
  EXPECT_TRUE(contains(refused("switches: {}\nswitches: {}\n").problem(), "given twice"));
  EXPECT_TRUE(contains(refused("switches: [\n").problem(), "not YAML"));
  EXPECT_TRUE(contains(refused("switches: " + std::string(200, '[') + std::string(200, ']')).problem(), "deeper"));
  const Error unknown = refused("switches: {}\nracks: []\n");
  EXPECT_TRUE(contains(unknown.problem(), "\"racks\" is not known"));
  EXPECT_EQ(unknown.where(), "m.yaml: line 2");
}

TEST(NetQ, ReadsTiersInterfacesAndCables) {
  const Cluster fabric = import_netq(R"([{"nodes": [
      {"compounded_nodes": [{"id": "n0", "name": "leaf", "tier": 1}]},
      {"compounded_nodes": [{"id": "n1", "name": "spine", "tier": 2}]},
      {"compounded_nodes": [{"id": "n2", "name": "host", "tier": -1}]}],
    "links": [
      {"compounded_links": [
        {"interfaces": [{"node": "n0", "interface": "swp1"}, {"node": "n2", "interface": "ens1"}]},
        {"interfaces": [{"node": "n0", "interface": "swp2"}, {"node": "n2", "interface": "ens2"}]}]},
      {"compounded_links": [
        {"interfaces": [{"node": "n0", "interface": "swp9"}, {"node": "n1", "interface": "swp1"}]},
        {"interfaces": [{"node": "n1", "interface": "swp1"}, {"node": "n0", "interface": "swp9"}]},
        {"interfaces": [{"node": "n0", "interface": "swp8"}, {"node": "n1", "interface": "swp2"}]}]}]}])",
                                     "netq.json");
  EXPECT_EQ(count(fabric, VertexKind::kLeaf), 1U);
  EXPECT_EQ(count(fabric, VertexKind::kSpine), 1U);
  EXPECT_EQ(links_between(fabric, "host/ens2", "leaf").size(), 1U);
  EXPECT_EQ(links_between(fabric, "leaf", "spine").at(0).width, 2);  // one listed from both ends
}

TEST(NetQ, SaysWhatIsWrongAndWhere) {
  const auto refused = [](const std::string& text) { return error_of([&] { import_netq(text, "n.json"); }); };
  EXPECT_EQ(refused(R"([{"nodes": [{"compounded_nodes": [{"id": "a", "tier": "x"}]}], "links": []}])").where(),
            "n.json#/0/nodes/0/compounded_nodes/0/tier");
  EXPECT_TRUE(contains(refused(R"([{"nodes": []}])").problem(), "has no \"links\""));
  EXPECT_TRUE(contains(refused(R"([{"nodes": [], "links": [{"compounded_links": [{"interfaces": [
      {"node": "a", "interface": "b"}, {"node": "c", "interface": "d"}]}]}]}])")
                           .problem(),
                       "not among the nodes"));
}

}  // namespace
}  // namespace trainyard
