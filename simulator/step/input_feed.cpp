#include "simulator/step/input_feed.h"

#include <algorithm>

namespace trainyard::simulator {

Seconds input_time(const InputFeed& feed, const Layout& layout) {
  const auto sequences = static_cast<double>(layout.micro_batch * layout.accumulation);
  const std::int64_t replica = std::max<std::int64_t>(1, std::int64_t{layout.tensor} * layout.context);
  const std::int64_t replicas = std::clamp<std::int64_t>(feed.ranks_per_node / replica, 1, layout.data);
  const double readers = layout.pipeline > 1 ? 2.0 : 1.0;
  const Bytes of_node = static_cast<double>(replicas) * sequences * feed.sample;
  const Bytes of_all = readers * static_cast<double>(layout.data) * sequences * feed.sample;
  return max(of_node / feed.node, of_all / feed.storage);
}

Seconds input_stall(const InputFeed& feed, const Layout& layout, Seconds step) {
  const Seconds alone = input_time(feed, layout);
  const Seconds interval = static_cast<double>(feed.steps_between_writes) * step;
  const double writing = interval > Seconds() ? std::min(1.0, feed.write / interval) : 0.0;
  const Seconds usual = max(Seconds(), alone - step);
  const Seconds beside = max(Seconds(), 2.0 * alone - step);
  return (1.0 - writing) * usual + writing * beside;
}

}  // namespace trainyard::simulator
