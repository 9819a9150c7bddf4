#include <gtest/gtest.h>

#include <ctime>

#include "core/cluster/builder.h"
#include "core/cluster/cluster.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

// The text of a small cluster with one piece exchanged.
Error error_with(const std::string& old_text, const std::string& new_text) {
  std::string text = to_json(build_cluster("fat-tree:hosts=4,gpus=2,radix=4"));
  const std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << text;
  text.replace(at, old_text.size(), new_text);
  return error_of([&] { parse_topology(text, "t.json"); });
}

TEST(TopologyJson, RoundTripsEveryBuilderExactly) {
  for (const BuilderInfo& info : cluster_builders()) {
    const Cluster cluster = build_cluster(info.name == "llama3-roce"   ? "llama3-roce:pods=1"
                                          : info.name == "dragonfly"   ? "dragonfly:p=4,gpus=1"
                                          : info.name == "alibaba-hpn" ? "alibaba-hpn:segments=2"
                                                                       : info.name);
    EXPECT_EQ(parse_topology(to_json(cluster), info.name), cluster) << info.name;
  }
}

TEST(TopologyJson, KeepsEveryOptionalFieldAndUnequalRates) {
  Cluster cluster;
  cluster.name = "odd \"name\"";
  cluster.congestion_control = CongestionControl::kLossy;
  cluster.notes = {"a note"};
  DeviceType type;
  type.name = "switch";
  type.buffer = ByteCount(123);
  type.deep_buffer = false;
  type.hop_latency = from_si<Seconds>(1.0 / 3.0);
  type.gpudirect = true;
  type.ports = 7;
  type.port_rate = from_si<BytesPerSecond>(50e9 / 3.0);
  type.memory_rate = from_si<BytesPerSecond>(1e11 / 3.0);
  type.source = "somewhere";
  const DeviceTypeId id = cluster.add_device_type(type);
  const NodeId node = cluster.add_node("n");
  const VertexId a = cluster.add_vertex({VertexKind::kNic, "a", id, node, 1, 2, 3});
  const VertexId b = cluster.add_vertex({VertexKind::kLeaf, "b", id, {}, {}, {}, {}});
  Link link;
  link.from = a;
  link.to = b;
  link.network = Network::kFrontend;
  link.generation = 3;
  link.width = 5;
  link.bandwidth = from_si<BytesPerSecond>(1e9 / 7.0);
  link.reverse_bandwidth = from_si<BytesPerSecond>(1.0);
  link.latency = from_si<Seconds>(1e-7 / 3.0);
  link.cable = cluster.add_cable({CableType::kMultimode, 12.5});
  cluster.add_link(link);
  EXPECT_EQ(parse_topology(to_json(cluster), ""), cluster);
}

TEST(TopologyJson, WritesAndReadsALargeClusterQuickly) {
  const Cluster cluster = build_cluster("llama3-roce");
  const TemporaryFolder folder;
  const std::clock_t start = std::clock();
  write_topology(cluster, folder.path() / "t.json");
  EXPECT_EQ(read_topology(folder.path() / "t.json"), cluster);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5.0);
}

TEST(TopologyJson, NamesThePlaceOfAnIdOutOfRange) {
  EXPECT_EQ(error_with("\"type\":0", "\"type\":99").where(), "t.json#/vertices/0/type");
  EXPECT_EQ(error_with("\"node\":0", "\"node\":4").where(), "t.json#/vertices/0/node");
  EXPECT_EQ(error_with("\"cable\":0", "\"cable\":7").where().substr(0, 20), "t.json#/link_shapes/");
  const Error link = error_with("[0,2,0]", "[0,200,0]");
  EXPECT_EQ(link.where().substr(0, 14), "t.json#/links/");
  EXPECT_EQ(error_with("[0,2,0]", "[0,0,0]").problem(), "joins a vertex to itself");
  EXPECT_EQ(error_with("[0,2,0]", "[0,2.5,0]").problem(), "number 1 isn't a position in its list");
  EXPECT_EQ(error_with("[0,2,0]", "[0,2]").problem(), "has 2 numbers instead of 3");
}

TEST(TopologyJson, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(error_with("\"rail\":0", "\"rial\":0").where().substr(0, 17), "t.json#/vertices/");
  EXPECT_EQ(error_with("\"kind\":\"gpu\"", "\"kind\":\"gp\"").where(), "t.json#/vertices/0/kind");
  EXPECT_EQ(error_with("node0/gpu1", "node0/gpu0").problem(), "'node0/gpu0' is there twice");
  EXPECT_EQ(error_with("\"schema\": 1", "\"schema\": 2").where(), "t.json#/schema");
}

}  // namespace
}  // namespace trainyard
