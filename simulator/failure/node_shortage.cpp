#include "simulator/failure/node_shortage.h"

#include <algorithm>
#include <cmath>

#include "simulator/failure/count_law.h"

namespace trainyard::simulator {
namespace {

void add_replicas(NodeShortage& shortage, const JobModel& job, double mean) {
  double regrowth = 0.0;
  for (std::int64_t j = 0; j < job.replicas.count; ++j) {
    const std::int64_t at = job.spares.nodes + j * job.replicas.nodes_each;
    const double above = negative_binomial_excess(mean, shortage.shape, at).probability;
    shortage.replicas_missing += above;
    regrowth += negative_binomial_point(mean, shortage.shape, at);
    if (above < 1e-12) {
      break;
    }
  }
  shortage.regrowth_rate = shortage.loss_rate * regrowth;
}

}  // namespace

NodeShortage node_shortage(const JobModel& job, const RecoveryPaths& paths) {
  NodeShortage shortage;
  double nodes = 0.0;    // a second
  double squares = 0.0;  // of the nodes an event
  double mean = 0.0;
  bool forever = false;
  for (const RecoveryPath& path : paths.paths) {
    if (path.nodes_lost == 0) {
      continue;
    }
    const double rate = paths.rate * path.share;
    const auto lost = static_cast<double>(path.nodes_lost);
    shortage.loss_rate += rate;
    nodes += rate * lost;
    squares += rate * lost * lost;
    const std::optional<Seconds> repair = mean_repair(job.hazards[path.hazard].repair);
    forever = forever || !repair;
    mean += rate * lost * repair.value_or(Seconds{}).si();
  }
  if (nodes <= 0.0) {
    shortage.mean_down = 0.0;
    shortage.p99_down = 0;
    return shortage;
  }
  const auto spares = job.spares.nodes;
  if (forever) {
    // Uniform in time from none to all that the job loses.
    const double end = nodes * job.length.si();
    const double over = std::max(0.0, end - static_cast<double>(spares));
    shortage.none_left = shortage.waiting = end > 0.0 ? over / end : 0.0;
    shortage.mean_missing = 0.5 * over * shortage.none_left;
    shortage.replicas_missing =
        shortage.none_left + shortage.mean_missing / static_cast<double>(job.replicas.nodes_each);
    return shortage;
  }
  shortage.shape = shape_of_dispersion(mean, std::max(job.spares.variance_to_mean, squares / nodes));
  shortage.mean_down = mean;
  shortage.p99_down = negative_binomial_quantile(mean, shortage.shape, 0.99);
  if (mean <= 0.0) {
    return shortage;
  }
  const Excess excess = negative_binomial_excess(mean, shortage.shape, spares);
  const double last = negative_binomial_point(mean, shortage.shape, spares + 1);
  shortage.mean_missing = excess.mean;
  shortage.none_left = excess.probability + negative_binomial_point(mean, shortage.shape, spares);
  shortage.waiting = last / std::max(1.0 - excess.probability + last, 1e-300);
  if (job.policy.kind == RecoveryKind::kShrink) {
    add_replicas(shortage, job, mean);
  }
  return shortage;
}

}  // namespace trainyard::simulator
