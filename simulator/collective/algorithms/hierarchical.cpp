#include "simulator/collective/algorithms/hierarchical.h"

#include "simulator/collective/algorithms/ring.h"
#include "simulator/collective/algorithms/tree.h"

namespace trainyard::simulator {

namespace {

void add_rail_ring(FlowWriter& writer, const std::vector<TreeEnd>& ends, double bytes, std::size_t position) {
  const int channels = writer.setup().channels_per_nic;
  for (int c = 0; c < channels; ++c) {
    AcrossMessage message;
    message.bytes = bytes / channels;
    message.channel = static_cast<std::int32_t>(position) * channels + c;
    message.coupled_group = writer.new_coupled_group();
    for (std::size_t node = 0; node < ends.size(); ++node) {
      const TreeEnd& next = ends[(node + 1) % ends.size()];
      message.from = ends[node].gpu;
      message.from_nic = ends[node].nic;
      message.to = next.gpu;
      message.to_nic = next.nic;
      writer.across(message);
    }
  }
}

}  // namespace

void add_hierarchical(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, double size, bool tree) {
  const std::size_t members = layout.nodes.front().gpus.size();
  for (const NodePart& node : layout.nodes) {
    add_ring_inside(writer, node, ring_bytes(op, members, size));
  }
  if (layout.nodes.size() < 2) {
    return;
  }
  const double part = size / static_cast<double>(members);
  for (std::size_t position = 0; position < members; ++position) {
    std::vector<TreeEnd> ends;
    ends.reserve(layout.nodes.size());
    for (const NodePart& node : layout.nodes) {
      ends.push_back({node.gpus[position], node.nics[node.rail_of[position]]});
    }
    if (tree) {
      add_double_tree(writer, ends, part, static_cast<std::int32_t>(position));
    } else {
      add_rail_ring(writer, ends, ring_bytes(op, ends.size(), part), position);
    }
  }
}

}  // namespace trainyard::simulator
