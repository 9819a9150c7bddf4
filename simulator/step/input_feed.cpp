#include "simulator/step/input_feed.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr double kScatter = 0.04;  // of a run's step time: docs/cost_model.md, Anchoring

// Of a checkpoint, for each step.
double write_per_step(const InputFeed& feed) {
  return feed.steps_between_writes == 0 ? 0.0 : feed.write.si() / static_cast<double>(feed.steps_between_writes);
}

}  // namespace

Seconds input_time(const InputFeed& feed, const Layout& layout) {
  check(feed.node > BytesPerSecond() && feed.storage > BytesPerSecond(), "data comes at some rate");
  const auto sequences = static_cast<double>(layout.micro_batch * layout.accumulation);
  const std::int64_t stage = std::max<std::int64_t>(1, std::int64_t{layout.tensor} * layout.context);
  const std::int64_t replicas = std::clamp<std::int64_t>(feed.ranks_per_node / stage, 1, layout.data);
  const std::int64_t nodes = (stage + feed.ranks_per_node - 1) / feed.ranks_per_node;
  const double readers = (layout.pipeline > 1 ? 2.0 : 1.0) * static_cast<double>(nodes);
  const Bytes of_node = static_cast<double>(replicas) * sequences * feed.sample;
  const Bytes of_all = readers * static_cast<double>(layout.data) * sequences * feed.sample;
  return max(of_node / feed.node, of_all / feed.storage);
}

Seconds input_stall(const InputFeed& feed, const Layout& layout, Seconds step) {
  const Seconds alone = input_time(feed, layout);
  const double usual = max(step, alone).si();
  const double beside = max(step, 2.0 * alone).si();
  const double write = write_per_step(feed);
  if (write >= beside) {
    return from_si<Seconds>(beside) - step;  // one write after another
  }
  // S^2 - usual S - write (beside - usual) = 0
  const double mean = 0.5 * (usual + std::sqrt(usual * usual + 4.0 * write * (beside - usual)));
  return from_si<Seconds>(mean) - step;
}

std::optional<Seconds> without_input_stall(const InputFeed& feed, const Layout& layout, Seconds took) {
  const double alone = input_time(feed, layout).si();
  const double write = write_per_step(feed);
  const double all = took.si();
  if (all > 2.0 * alone) {
    return took;
  }
  if (all <= write) {
    return std::nullopt;
  }
  const double step = (all * all - 2.0 * write * alone) / (all - write);
  return step > (1.0 + kScatter) * alone ? std::optional(from_si<Seconds>(step)) : std::nullopt;
}

}  // namespace trainyard::simulator
