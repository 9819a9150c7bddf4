#include "simulator/collective/algorithms/pat.h"

#include <algorithm>

namespace trainyard::simulator {

void add_pat(FlowWriter& writer, const GroupLayout& layout, double size) {
  const std::size_t n = layout.nodes.size();
  const int channels = writer.setup().channels_per_nic;
  const double block = size / static_cast<double>(n * layout.rails) / channels;
  for (std::size_t rail = 0; rail < layout.rails; ++rail) {
    for (int c = 0; c < channels; ++c) {
      // A step needs what the steps before it brought, chunk by chunk: all of a channel's messages move together.
      const std::int32_t group = writer.new_coupled_group();
      for (std::size_t distance = 1; distance < n; distance *= 2) {
        const double blocks = static_cast<double>(std::min(distance, n - distance));
        for (std::size_t node = 0; node < n; ++node) {
          const NodePart& from = layout.nodes[node];
          const NodePart& to = layout.nodes[(node + distance) % n];
          AcrossMessage message;
          message.from = from.gpus.front();
          message.from_nic = from.nics[rail];
          message.to = to.gpus.front();
          message.to_nic = to.nics[rail];
          message.bytes = blocks * block;
          message.channel = static_cast<std::int32_t>(rail) * channels + c;
          message.coupled_group = group;
          writer.across(message);
        }
      }
    }
  }
}

}  // namespace trainyard::simulator
