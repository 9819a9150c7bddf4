#include "gui/paint/cluster_picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/cluster/builder.h"

namespace trainyard::gui {
namespace {

class AnyCluster : public testing::TestWithParam<const char*> {};

// Whatever the fabric: every GPU has a place of its own where it is found again, and no pod lies on another.
TEST_P(AnyCluster, EveryGpuIsFoundWhereItLiesAndPodsDontOverlap) {
  const Cluster cluster = build_cluster(GetParam());
  const ClusterPicture picture(cluster);
  const std::vector<VertexId> gpus = cluster.gpus();
  std::set<std::pair<double, double>> places;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const QPointF at = picture.anchor(gpus[rank]);
    EXPECT_TRUE(picture.bounds().contains(at));
    EXPECT_TRUE(places.insert({at.x(), at.y()}).second) << rank;
    ASSERT_EQ(picture.rank_at(at), Rank(static_cast<std::int64_t>(rank)));
  }
  for (std::size_t a = 0; a < picture.pods().size(); ++a) {
    EXPECT_TRUE(picture.pods()[a].frame.contains(picture.pods()[a].lattice)) << GetParam();
    for (std::size_t b = a + 1; b < picture.pods().size(); ++b) {
      EXPECT_FALSE(picture.pods()[a].frame.intersects(picture.pods()[b].frame)) << a << " " << b;
    }
  }
}

TEST_P(AnyCluster, EverySwitchOfTheFabricHasABoxAndEveryLinkALine) {
  const Cluster cluster = build_cluster(GetParam());
  const ClusterPicture picture(cluster);
  for (std::size_t v = 0; v < cluster.vertices().size(); ++v) {
    const VertexId id(static_cast<std::int64_t>(v));
    if (is_fabric_switch(cluster.vertex(id).kind)) {
      ASSERT_TRUE(picture.rect(id)) << cluster.vertex(id).name;
      EXPECT_EQ(picture.device_at(picture.rect(id)->center()), id) << cluster.vertex(id).name;
    }
  }
  std::size_t links = picture.loose_links().size();
  for (const PodPicture& pod : picture.pods()) {
    links += pod.links.size();
  }
  for (const Trunk& trunk : picture.trunks()) {
    links += trunk.links.size();
  }
  EXPECT_EQ(links, cluster.links().size());
}

INSTANTIATE_TEST_SUITE_P(Fabrics, AnyCluster,
                         testing::Values("fat-tree:hosts=1", "fat-tree:hosts=2", "fat-tree:hosts=64",
                                         "fat-tree:hosts=64,rail-optimised=no", "superpod-h100:su=4",
                                         "rail-only:hosts=32", "dragonfly:p=16,a=4,h=2,groups=6", "torus:dims=4x4x2",
                                         "nvl72:racks=4", "pcie-box", "llama3-roce:pods=2", "alibaba-hpn:segments=3"));

TEST(ClusterPicture, Llama3sPodsAreEightOf3072) {
  const ClusterPicture picture(build_cluster("llama3-roce:front-end=no"));
  ASSERT_EQ(picture.pods().size(), 8U);
  for (const PodPicture& pod : picture.pods()) {
    EXPECT_EQ(std::count_if(pod.cells.begin(), pod.cells.end(), [](std::int32_t rank) { return rank >= 0; }), 3072);
    EXPECT_EQ(pod.leaves.size(), 192U);
  }
  EXPECT_FALSE(picture.above().empty());
}

TEST(ClusterPicture, ARackOfSeventyTwoIsOneBlock) {
  const ClusterPicture picture(build_cluster("nvl72:racks=4"));
  std::size_t blocks = 0;
  for (const PodPicture& pod : picture.pods()) {
    blocks += pod.blocks.size();
    for (const BlockPicture& block : pod.blocks) {
      EXPECT_EQ(block.columns * block.rows, 72);
    }
  }
  EXPECT_EQ(blocks, 4U);
}

}  // namespace
}  // namespace trainyard::gui
