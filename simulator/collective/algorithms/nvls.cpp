#include "simulator/collective/algorithms/nvls.h"

#include "simulator/collective/algorithms/collnet.h"
#include "simulator/collective/algorithms/tree.h"

namespace trainyard::simulator {

void add_nvls_inside(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, double size) {
  for (const NodePart& node : layout.nodes) {
    const double m = static_cast<double>(node.gpus.size());
    if (node.gpus.size() < 2) {
      continue;
    }
    double up = size * (1.0 + 1.0 / m);
    double down = up;
    if (op == CollectiveOp::kAllGather) {
      up = size / m;
      down = size * (m - 1.0) / m;
    } else if (op == CollectiveOp::kReduceScatter) {
      up = size * (m - 1.0) / m;
      down = size / m;
    }
    for (const VertexId gpu : node.gpus) {
      writer.nvswitch(gpu, up, down);
    }
  }
}

void add_nvls(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, double size) {
  add_nvls_inside(writer, op, layout, size);
  if (layout.nodes.size() > 1) {
    add_switch_trees(writer, layout, size);
  }
}

void add_nvls_tree(FlowWriter& writer, const GroupLayout& layout, double size) {
  add_nvls_inside(writer, CollectiveOp::kAllReduce, layout, size);
  for (std::size_t rail = 0; rail < layout.rails; ++rail) {
    std::vector<TreeEnd> ends;
    ends.reserve(layout.nodes.size());
    for (const NodePart& node : layout.nodes) {
      ends.push_back({node.head(rail), node.nics[rail]});
    }
    add_double_tree(writer, ends, size / static_cast<double>(layout.rails), static_cast<std::int32_t>(rail));
  }
}

}  // namespace trainyard::simulator
