#include "core/cluster/distance.h"

#include <gtest/gtest.h>

#include "core/cluster/builder.h"

namespace trainyard {
namespace {

struct Machine {
  explicit Machine(const std::string& spec) : cluster(build_cluster(spec)), graph(cluster) {}
  VertexId at(const std::string& name) const { return cluster.find(name).value(); }
  HostPath path(const std::string& gpu, const std::string& other) const {
    return host_path(cluster, graph, at(gpu), at(other));
  }
  Cluster cluster;
  ClusterGraph graph;
};

TEST(Distance, OfADgxH100IsAsNvidiaSmiShowsIt) {
  const Machine dgx("superpod-h100:su=1");
  EXPECT_EQ(dgx.path("node00/gpu0", "node00/gpu0").path, PathClass::kLoc);
  EXPECT_EQ(dgx.path("node00/gpu0", "node00/gpu7").path, PathClass::kNvl);
  EXPECT_EQ(dgx.path("node00/gpu0", "node00/gpu7").bandwidth, 450_GBps);
  EXPECT_EQ(dgx.path("node00/gpu0", "node00/nic0").path, PathClass::kPix);  // one switch for the pair
  EXPECT_EQ(dgx.path("node00/gpu0", "node00/nic1").path, PathClass::kPhb);  // same socket
  EXPECT_EQ(dgx.path("node00/gpu0", "node00/nic4").path, PathClass::kSys);  // other socket
  EXPECT_EQ(dgx.path("node00/gpu0", "node01/nic0").path, PathClass::kNone);
}

TEST(Distance, OrdersTheNicsOfAGpuNearestFirst) {
  const Machine dgx("superpod-h100:su=1");
  const std::vector<NicPath> nics = nics_of(dgx.cluster, dgx.graph, dgx.at("node00/gpu5"), Network::kBackend);
  ASSERT_EQ(nics.size(), 8U);
  EXPECT_EQ(nics[0].nic, dgx.at("node00/nic5"));
  EXPECT_TRUE(nics[0].gpudirect);
  EXPECT_EQ(nics[1].nic, dgx.at("node00/nic4"));
  EXPECT_FALSE(nics[1].gpudirect) << "through the CPU's root, beyond NCCL's default limit";
  EXPECT_EQ(nics[7].path, PathClass::kSys);
  EXPECT_EQ(nics[7].bandwidth, 22_GBps);
}

TEST(Distance, KeepsFrontEndNicsApart) {
  const Machine dgx("superpod-h100:su=1");
  const std::vector<NicPath> nics = nics_of(dgx.cluster, dgx.graph, dgx.at("node00/gpu0"), Network::kFrontend);
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(nics[0].nic, dgx.at("node00/front0"));
  EXPECT_EQ(network_of(dgx.cluster, dgx.graph, nics[0].nic), Network::kFrontend);
}

TEST(Distance, SharesAPcieSwitchBetweenTwoGpusOfADgxA100) {
  const Machine dgx("superpod-a100:su=1");
  // Both NICs of the switch are equally near: each GPU has its own first.
  for (const char* index : {"0", "1", "6", "7"}) {
    const std::vector<NicPath> nics =
        nics_of(dgx.cluster, dgx.graph, dgx.at(std::string("node00/gpu") + index), Network::kBackend);
    EXPECT_EQ(nics.front().nic, dgx.at(std::string("node00/nic") + index));
  }
  EXPECT_EQ(dgx.path("node00/gpu0", "node00/nic1").path, PathClass::kPix);
  EXPECT_EQ(dgx.path("node00/gpu0", "node00/nic2").path, PathClass::kPhb);
}

TEST(Distance, ReachesANicOfAGraceOverTheCoherentLink) {
  // GPU - C2C - CPU - PCIe - NIC: near enough for GPUDirect since NCCL 2.27.
  const Machine rack("nvl72:racks=1");
  const std::vector<NicPath> nics = nics_of(rack.cluster, rack.graph, rack.at("rack0/tray00/gpu0"), Network::kBackend);
  ASSERT_EQ(nics.size(), 4U);
  EXPECT_EQ(nics[0].path, PathClass::kP2c);
  EXPECT_TRUE(nics[0].gpudirect);
  EXPECT_FALSE(nics[3].gpudirect);
  EXPECT_EQ(rack.path("rack0/tray00/gpu0", "rack0/tray17/gpu3").path, PathClass::kNvl) << "of another host";
}

TEST(Distance, FindsNvlinkThroughAnotherGpu) {
  // a - b - c in a row: a and c have no NVLink in common but b.
  Cluster cluster;
  const DeviceTypeId type = cluster.add_device_type({});
  const NodeId node = cluster.add_node("node");
  std::vector<VertexId> gpus;
  for (const char* name : {"a", "b", "c"}) {
    gpus.push_back(cluster.add_vertex({VertexKind::kGpu, name, type, node, {}, {}, {}}));
  }
  for (int i = 0; i < 2; ++i) {
    Link link;
    link.from = gpus[static_cast<std::size_t>(i)];
    link.to = gpus[static_cast<std::size_t>(i + 1)];
    link.kind = LinkKind::kNvlink;
    link.bandwidth = link.reverse_bandwidth = 25_GBps * (i + 1.0);
    cluster.add_link(link);
  }
  const ClusterGraph graph(cluster);
  const HostPath path = host_path(cluster, graph, gpus[0], gpus[2]);
  EXPECT_EQ(path.path, PathClass::kNvb);
  EXPECT_EQ(path.bandwidth, 25_GBps);
}

TEST(Distance, CountsPcieSwitchesInARow) {
  // GPU - switch - switch - NIC.
  Cluster cluster;
  const DeviceTypeId type = cluster.add_device_type({});
  DeviceType mellanox;
  mellanox.name = "mlx5_0";
  const DeviceTypeId nic_type = cluster.add_device_type(mellanox);
  const NodeId node = cluster.add_node("node");
  const VertexId gpu = cluster.add_vertex({VertexKind::kGpu, "gpu", type, node, {}, {}, {}});
  const VertexId one = cluster.add_vertex({VertexKind::kPcieSwitch, "one", type, node, {}, {}, {}});
  const VertexId two = cluster.add_vertex({VertexKind::kPcieSwitch, "two", type, node, {}, {}, {}});
  const VertexId nic = cluster.add_vertex({VertexKind::kNic, "nic", nic_type, node, {}, {}, {}});
  for (const auto& [from, to] : {std::pair(gpu, one), std::pair(one, two), std::pair(two, nic)}) {
    Link link;
    link.from = from;
    link.to = to;
    link.kind = LinkKind::kPcie;
    link.bandwidth = link.reverse_bandwidth = 30_GBps;
    cluster.add_link(link);
  }
  const ClusterGraph graph(cluster);
  EXPECT_EQ(host_path(cluster, graph, gpu, nic).path, PathClass::kPxb);
  const std::vector<NicPath> nics = nics_of(cluster, graph, gpu, Network::kBackend);
  ASSERT_EQ(nics.size(), 1U) << "not cabled: counts as back-end";
  EXPECT_TRUE(nics[0].gpudirect) << "a vendor whose NICs can";
  EXPECT_FALSE(nics_of(cluster, graph, gpu, Network::kBackend, PathClass::kPix)[0].gpudirect);
}

TEST(Distance, TakesGpudirectFromTheTypeOrTheVendorsName) {
  DeviceType nic;
  EXPECT_FALSE(has_gpudirect(nic));
  nic.name = "ConnectX-6 Dx";
  EXPECT_TRUE(has_gpudirect(nic));
  nic.gpudirect = false;
  EXPECT_FALSE(has_gpudirect(nic));
}

}  // namespace
}  // namespace trainyard
