#include "core/import/nccl_xml.h"

#include <gtest/gtest.h>

#include "tests/core/import/import_facts.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

// Two H100s behind one PCIe switch with a 400 Gb/s NIC, 18 NVLinks each to two NVSwitches, and a slow NIC.
constexpr const char* kH100 = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:18:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:1b:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:86:00.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:87:00.0" count="9" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:1a:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:86:00.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:87:00.0" count="9" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:1c:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="8">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:a0:00.0" class="0x020000">
      <nic><net name="eth0" dev="1" port="1" gdr="0"/></nic>
    </pci>
  </cpu>
</system>
)";

TEST(NcclXml, ReadsDevicesNvlinksAndPcie) {
  const Cluster node = import_nccl_xml(kH100, "topo.xml");
  EXPECT_EQ(count(node, VertexKind::kGpu), 2U);
  EXPECT_EQ(count(node, VertexKind::kNvswitch), 2U);
  EXPECT_EQ(count(node, VertexKind::kPcieSwitch), 1U);
  EXPECT_EQ(count(node, VertexKind::kCpu), 2U);
  EXPECT_EQ(count(node, VertexKind::kNic), 2U);
  // 18 links x 25 GB/s one way.
  EXPECT_DOUBLE_EQ(gigabytes_at(node, node.gpus()[0], LinkKind::kNvlink), 450.0);
  EXPECT_EQ(node.type(node.gpus()[0]).name, "H100-SXM5");
  // Generation 5: 32 GT/s x 128/130 / 8 = 3.938 GB/s a lane, x16 and x8.
  const auto gpu_link = links_between(node, "node0/gpu0", "node0/pcie0");
  ASSERT_EQ(gpu_link.size(), 1U);
  EXPECT_NEAR(gigabytes(gpu_link[0].bandwidth), 63.02, 0.01);
  const auto nic_link = links_between(node, "node0/mlx5_0", "node0/pcie0");
  ASSERT_EQ(nic_link.size(), 1U);
  EXPECT_EQ(nic_link[0].width, 8);
  EXPECT_NEAR(gigabytes(nic_link[0].bandwidth), 31.51, 0.01);
  // Sapphire Rapids to Sapphire Rapids: 22 GB/s.
  EXPECT_DOUBLE_EQ(gigabytes(links_between(node, "node0/cpu0", "node0/cpu1").at(0).bandwidth), 22.0);
}

TEST(NcclXml, CountsANicWithoutASpeedAs10GbpsAndPutsOnlyTheFastestOnRails) {
  const Cluster node = import_nccl_xml(kH100, "topo.xml");
  const VertexId fast = node.find("node0/mlx5_0").value();
  const VertexId slow = node.find("node0/eth0").value();
  EXPECT_EQ(node.type(fast).port_rate, std::optional(400_Gbps));
  EXPECT_EQ(node.type(slow).port_rate, std::optional(10_Gbps));
  EXPECT_EQ(node.type(fast).gpudirect, std::optional(true));
  EXPECT_EQ(node.type(slow).gpudirect, std::optional(false));
  EXPECT_EQ(node.vertex(fast).rail, std::optional(0));
  EXPECT_EQ(node.vertex(slow).rail, std::nullopt);
  EXPECT_TRUE(has_note(node, "NICs without a speed in the file, counted as 10 Gb/s as NCCL does: 1"));
  EXPECT_TRUE(has_note(node, "PCIe links without speed or width, counted as generation 3 x16 as NCCL does: 1"));
}

// dev 0 comes second in the file; its bus id is the lower one.
TEST(NcclXml, OrdersGpusByTheirDeviceNumber) {
  const std::string_view text = R"(<system><cpu numaid="0">
    <pci busid="0000:02:00.0" class="0x030200" device="0x2330" vendor="0x10de"><gpu dev="0"/></pci>
    <pci busid="0000:01:00.0" class="0x030200" device="0x20b0" vendor="0x10de"><gpu dev="1"/></pci></cpu></system>)";
  const Cluster node = import_nccl_xml(text, "topo.xml");
  EXPECT_EQ(node.type(node.gpus()[0]).name, "H100-SXM5");
  EXPECT_EQ(node.type(node.gpus()[1]).name, "A100-SXM4-40GB");
}

// gfx90a: 50 GB/s a link. The first GPU lists 4 links, the second 2: 200 GB/s there, 100 GB/s back.
TEST(NcclXml, JoinsAmdGpusByXgmiEachWay) {
  const std::string_view text = R"(<system><cpu numaid="0" vendor="AuthenticAMD">
    <pci busid="0000:01:00.0" class="0x038000"><gpu dev="0" sm="104" gcn="910">
      <xgmi target="0000:02:00.0" count="4" tclass="0x038000"/></gpu></pci>
    <pci busid="0000:02:00.0" class="0x038000"><gpu dev="1" sm="104" gcn="910">
      <xgmi target="0000:01:00.0" count="2" tclass="0x038000"/></gpu></pci></cpu></system>)";
  const Cluster node = import_nccl_xml(text, "topo.xml");
  const auto links = links_between(node, "node0/gpu0", "node0/gpu1");
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].kind, LinkKind::kXgmi);
  EXPECT_DOUBLE_EQ(gigabytes(links[0].bandwidth), 200.0);
  EXPECT_DOUBLE_EQ(gigabytes(links[0].reverse_bandwidth), 100.0);
  EXPECT_EQ(node.type(node.gpus()[0]).name, "gfx90a");
}

TEST(NcclXml, PutsThePortsOfOneCardBehindItsOnePcieLink) {
  const std::string_view text = R"(<system><cpu numaid="0">
    <pci busid="0000:01:00.0" class="0x030200"/>
    <pci busid="0000:61:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"><nic>
      <net name="mlx5_0" dev="0" speed="200000" port="1"/>
      <net name="mlx5_1" dev="1" speed="100000" port="2"/>
      <net name="mlx5_0" dev="0" speed="200000" port="1" coll="1"/></nic></pci></cpu></system>)";
  const Cluster node = import_nccl_xml(text, "topo.xml");
  EXPECT_EQ(count(node, VertexKind::kNic), 2U);  // the one that can aggregate is listed twice
  EXPECT_EQ(links_between(node, "node0/card0", "node0/cpu0").size(), 1U);
  EXPECT_EQ(links_between(node, "node0/card0", "node0/mlx5_1").size(), 1U);
}

TEST(NcclXml, JoinsAGpuToItsCpuByC2c) {
  const std::string_view text = R"(<system><cpu numaid="0" arch="arm64"><pci busid="0009:01:00.0" class="0x030200">
    <gpu dev="0" sm="90"><c2c bw="45000" count="10"/></gpu></pci></cpu></system>)";
  const Cluster node = import_nccl_xml(text, "topo.xml");
  EXPECT_DOUBLE_EQ(gigabytes_at(node, node.gpus()[0], LinkKind::kC2c), 450.0);  // 10 x 45,000 MB/s
}

TEST(NcclXml, TakesASwitchOfAnyKindOfLinkAndNotesLinksToGpusThatAreNotListed) {
  const std::string_view text = R"(<system><cpu numaid="0"><pci busid="0000:01:00.0" class="0x038000"><gpu dev="0">
    <xgmi target="0000:90:00.0" count="2" tclass="0x068000"/>
    <nvlink target="0000:02:00.0" count="2" tclass="0x030200"/></gpu></pci></cpu></system>)";
  const Cluster node = import_nccl_xml(text, "topo.xml");
  EXPECT_EQ(count(node, VertexKind::kNvswitch), 1U);
  EXPECT_TRUE(has_note(node, "links to GPUs that the file doesn't list, left out: 1"));
}

TEST(NcclXml, SaysWhatIsWrongAndWhere) {
  const auto refused = [](const std::string& inside) {
    return error_of([&] { import_nccl_xml("<system>\n<cpu numaid=\"0\">\n" + inside + "</cpu></system>", "t.xml"); });
  };
  const Error unknown = refused("<pci busid=\"0000:00:16.0\"/>");
  EXPECT_TRUE(contains(unknown.problem(), "neither a class nor"));
  EXPECT_EQ(unknown.where(), "t.xml: line 3, <pci>");
  EXPECT_TRUE(contains(unknown.hint(), "NCCL_TOPO_DUMP_FILE"));
  EXPECT_TRUE(contains(refused("<pci busid=\"1\" class=\"0x030200\"/><pci busid=\"1\" class=\"0x030200\"/>").problem(),
                       "given twice"));
  EXPECT_TRUE(
      contains(refused("<pci busid=\"1\" class=\"0x020700\" link_width=\"wide\"/>").problem(), "not a whole number"));
  EXPECT_TRUE(contains(refused("<pci busid=\"1\"><gpu dev=\"0\"><c2c/></gpu></pci>").problem(), "without bw"));
  EXPECT_TRUE(
      contains(error_of([] { import_nccl_xml("<system><gpu dev=\"0\"/></system>", "t.xml"); }).problem(), "FlagCX"));
  EXPECT_TRUE(contains(error_of([] { import_nccl_xml("<system>\n<cpu", "t.xml"); }).problem(), "not XML"));
  EXPECT_TRUE(contains(error_of([] { import_nccl_xml("<system/>", "t.xml"); }).problem(), "no CPU"));
}

// NCCL writes AMD's family 23 (Zen 2) as 15 + 16 x 8 = 143. Four CPUs are two sockets of two NUMA domains: each has
// half of a socket's 204.8 GB/s. A processor that models/cables/devices.json lacks has none.
TEST(NcclXml, GivesEachCpuItsShareOfTheHostMemory) {
  const auto memory = [](int cpus, const std::string& vendor, int family, int model) {
    std::string xml = "<system version=\"1\">";
    for (int i = 0; i < cpus; ++i) {
      xml += "<cpu numaid=\"" + std::to_string(i) + "\" arch=\"x86_64\" vendor=\"" + vendor + "\" familyid=\"" +
             std::to_string(family) + "\" modelid=\"" + std::to_string(model) + "\"/>";
    }
    const Cluster cluster = import_nccl_xml(xml + "</system>", "t.xml");
    return cluster.type(cluster.of_kind(VertexKind::kCpu).back()).memory_rate;
  };
  EXPECT_EQ(memory(4, "AuthenticAMD", 143, 49), 102.4_GBps);
  EXPECT_EQ(memory(2, "AuthenticAMD", 143, 49), 204.8_GBps);
  EXPECT_EQ(memory(2, "AuthenticAMD", 175, 17), 460.8_GBps);
  EXPECT_EQ(memory(2, "GenuineIntel", 6, 143), 307.2_GBps);
  EXPECT_EQ(memory(2, "GenuineIntel", 6, 1), std::nullopt);
}

TEST(NcclXml, RefusesDepthAndBinaryText) {
  std::string deep = "<system>";
  for (int i = 0; i < 100; ++i) {
    deep += "<pci>";
  }
  for (int i = 0; i < 100; ++i) {
    deep += "</pci>";
  }
  EXPECT_TRUE(contains(error_of([&] { import_nccl_xml(deep + "</system>", "t.xml"); }).problem(), "nested deeper"));
  EXPECT_TRUE(contains(error_of([] { import_nccl_xml(std::string_view("<a\0>", 4), "t.xml"); }).problem(), "zero"));
  EXPECT_TRUE(contains(error_of([] { import_nccl_xml("\n<a b=\"\xff\"/>", "t.xml"); }).where(), "line 2"));
}

}  // namespace
}  // namespace trainyard
