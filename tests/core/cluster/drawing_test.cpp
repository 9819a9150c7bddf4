#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/cluster/builder.h"
#include "core/cluster/draw/folded.h"

namespace trainyard {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
    ++found;
  }
  return found;
}

TEST(Drawing, FoldsPodsOfALargeClusterAndKeepsEveryGpuAndCable) {
  const FoldedCluster folded = fold(build_cluster("llama3-roce"));
  ASSERT_EQ(folded.rows.size(), 4U);  // core, spine, leaf, hosts
  std::size_t leaf_boxes = 0;
  std::size_t host_boxes = 0;
  for (const Box& box : folded.boxes) {
    leaf_boxes += box.kind == VertexKind::kLeaf ? 1 : 0;
    host_boxes += box.hosts ? 1 : 0;
    if (box.hosts) {
      EXPECT_EQ(box.name, "384 hosts");
      EXPECT_EQ(box.detail, "3072 GPUs");
    }
  }
  EXPECT_EQ(leaf_boxes, 8U);
  EXPECT_EQ(host_boxes, 8U);
  std::int64_t cables = 0;
  for (const Wire& wire : folded.wires) {
    cables += wire.links;
  }
  EXPECT_EQ(cables, 24576 + 24576 + 3584);
}

TEST(Drawing, ShowsTheInsideOfAFewHosts) {
  const FoldedCluster folded = fold(build_cluster("superpod-h100:su=1,nodes=2"));
  EXPECT_EQ(folded.hosts.size(), 2U);
  EXPECT_EQ(std::count_if(folded.boxes.begin(), folded.boxes.end(),
                          [](const Box& box) { return box.kind == VertexKind::kGpu && !box.hosts; }),
            16);
}

TEST(Drawing, BoxesOfARowDoNotOverlap) {
  for (const BuilderInfo& info : cluster_builders()) {
    const FoldedCluster folded = fold(build_cluster(info.name == "dragonfly" ? "dragonfly:p=4,gpus=1" : info.name));
    std::map<std::size_t, double> right;  // edge of the last box, by row
    for (const Box& box : folded.boxes) {
      const double left = box.centre - box.width / 2.0;
      if (right.find(box.row) != right.end()) {
        EXPECT_GE(left, right[box.row] - 1e-9) << info.name << " " << box.name;
      }
      right[box.row] = box.centre + box.width / 2.0;
      EXPECT_LE(right[box.row], 1.0 + 1e-9);
    }
    EXPECT_LE(folded.boxes.size(), 200U) << info.name << ": folded small enough to look at";
  }
}

TEST(Drawing, SvgHasAnElementForEachBoxAndWireAndEscapesNames) {
  Cluster cluster = build_cluster("superpod-h100");
  cluster.name = "a <b> & \"c\"";
  const FoldedCluster folded = fold(cluster);
  const std::string svg = to_svg(folded);
  EXPECT_EQ(count(svg, "<rect"), folded.boxes.size() + 1);  // and the background
  EXPECT_EQ(count(svg, "<path"), folded.wires.size() + 1);  // and the legend's cable
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

TEST(Drawing, DotHasANodeForEachBox) {
  const FoldedCluster folded = fold(build_cluster("superpod-h100"));
  const std::string dot = to_dot(folded);
  EXPECT_EQ(count(dot, " -- "), folded.wires.size());
  EXPECT_NE(dot.find("[label=\"su0\\n8 leaves\"]"), std::string::npos) << dot;
}

TEST(Drawing, OfAClusterWithoutAnythingIsATitle) {
  const FoldedCluster folded = fold(Cluster());
  EXPECT_TRUE(folded.wires.empty());
  EXPECT_NE(to_svg(folded).find("0 GPUs"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
