#include "simulator/fabric/what_if.h"

#include <gtest/gtest.h>

#include "tests/simulator/fabric/fabrics.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

Cluster changed(const Cluster& cluster, const std::string& change) { return with_changes(cluster, {&change, 1}); }

Cluster two_switches(int cables) {
  Cluster cluster;
  const VertexId a = add(cluster, VertexKind::kLeaf, "rack-1/leaf");
  const VertexId b = add(cluster, VertexKind::kSpine, "spine-1");
  const VertexId nic = add(cluster, VertexKind::kNic, "nic");
  cable(cluster, a, b, cables * 50_GBps, cables);
  cable(cluster, nic, a, 50_GBps);
  return cluster;
}

TEST(WhatIf, ABundleLosesHalfItsCablesOneOrAll) {
  const Cluster cluster = two_switches(4);
  const Link half = changed(cluster, "link:rack-1/leaf-spine-1=half").links()[0];
  EXPECT_EQ(half.width, 2);
  EXPECT_DOUBLE_EQ(half.bandwidth.si(), 100e9);
  const Link one_less = changed(cluster, "link:spine-1-rack-1/leaf=cable-down").links()[0];
  EXPECT_EQ(one_less.width, 3);
  EXPECT_DOUBLE_EQ(one_less.reverse_bandwidth.si(), 150e9);
  const Cluster without = changed(cluster, "link:rack-1/leaf-spine-1=down");
  EXPECT_EQ(without.links().size(), 1U);
  EXPECT_EQ(without.vertices(), cluster.vertices());
  EXPECT_EQ(without.notes.back(), "what if: link:rack-1/leaf-spine-1=down");
}

TEST(WhatIf, FlappingCountsTheTimeUp) {
  const Cluster cluster = changed(two_switches(1), "link:rack-1/leaf-spine-1=flap:0.2");
  EXPECT_DOUBLE_EQ(cluster.links()[0].bandwidth.si(), 40e9);
  EXPECT_EQ(cluster.notes.size(), 2U);
}

TEST(WhatIf, ANicIsSlowedAtItsCablesAndASwitchAtAllLinks) {
  EXPECT_DOUBLE_EQ(changed(two_switches(1), "nic:nic=0.5").links()[1].bandwidth.si(), 25e9);
  EXPECT_TRUE(changed(two_switches(1), "switch:rack-1/leaf=down").links().empty());
}

TEST(WhatIf, ABadChangeIsNamedWithAWayOut) {
  const Cluster cluster = two_switches(1);
  for (const char* bad :
       {"leaf0 down", "link:nowhere-spine-1=down", "link:nic-spine-1=down", "switch:nic=down", "nic:spine-1=down",
        "rack:spine-1=down", "switch:spine-1=2", "switch:spine-1=slow", "switch:spine-1=flap:x", "switch:spine-2=half",
        "nic:nic=1e-9", "nic:nic=flap:0.9999", "nic:nic=cable-down"}) {
    const Error error = error_of([&] { changed(cluster, bad); });
    EXPECT_EQ(error.where(), bad);
    EXPECT_FALSE(error.hint().empty()) << bad;
  }
  EXPECT_NE(error_of([&] { changed(cluster, "switch:spine-2=half"); }).hint().find("did you mean spine-1?"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::simulator
