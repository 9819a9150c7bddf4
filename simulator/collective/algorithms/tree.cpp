#include "simulator/collective/algorithms/tree.h"

#include <algorithm>
#include <array>

#include "simulator/collective/algorithms/double_tree.h"

namespace trainyard::simulator {

void add_double_tree(FlowWriter& writer, const std::vector<TreeEnd>& ends, double size, std::int32_t channel) {
  const std::array<Parents, 2> trees = double_tree(static_cast<int>(ends.size()));
  // Each tree is a channel of its own; more channels repeat both.
  const int repeats = std::max(1, writer.setup().channels_per_nic / 2);
  const double bytes = size / (2.0 * repeats);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t t = 0; t < trees.size(); ++t) {
      AcrossMessage message;
      message.bytes = bytes;
      message.channel = (channel * repeats + repeat) * 2 + static_cast<std::int32_t>(t);
      message.coupled_group = writer.new_coupled_group();
      for (std::size_t node = 0; node < ends.size(); ++node) {
        if (trees[t][node] < 0) {
          continue;
        }
        const TreeEnd& child = ends[node];
        const TreeEnd& parent = ends[static_cast<std::size_t>(trees[t][node])];
        message.from = child.gpu;
        message.from_nic = child.nic;
        message.to = parent.gpu;
        message.to_nic = parent.nic;
        writer.across(message);
        std::swap(message.from, message.to);
        std::swap(message.from_nic, message.to_nic);
        writer.across(message);
      }
    }
  }
}

void add_chains(FlowWriter& writer, const GroupLayout& layout, const NodePart& node, double bytes) {
  const std::size_t members = node.gpus.size();
  if (members < 2) {
    return;
  }
  // Without rails (one node) each member is the top of one chain.
  std::vector<std::size_t> tops(members, layout.rails == 0 ? 1 : 0);
  for (std::size_t rail = 0; rail < layout.rails; ++rail) {
    ++tops[node.heads[rail]];
  }
  const std::size_t chains = layout.rails == 0 ? members : layout.rails;
  for (std::size_t i = 0; i < members; ++i) {
    const double through = static_cast<double>(chains - tops[(i + 1) % members]) / static_cast<double>(chains);
    writer.inside(node.around(i), node.around(i + 1), bytes * through);
    writer.inside(node.around(i + 1), node.around(i), bytes * through);
  }
}

void add_tree(FlowWriter& writer, const GroupLayout& layout, double size) {
  for (const NodePart& node : layout.nodes) {
    add_chains(writer, layout, node, size);
  }
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
