#include "simulator/failure/node_shortage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "simulator/failure/count_law.h"

namespace trainyard::simulator {
namespace {

// Node losses of the job: sums over the paths that take nodes out.
struct Losses {
  double events = 0.0;  // per second
  double nodes = 0.0;   // per second
  double squares = 0.0;
};

Losses losses_of(const RecoveryPaths& paths) {
  Losses losses;
  for (const RecoveryPath& path : paths.paths) {
    const double rate = paths.rate * path.share;
    const auto lost = static_cast<double>(path.nodes_lost);
    losses.events += path.nodes_lost > 0 ? rate : 0.0;
    losses.nodes += rate * lost;
    losses.squares += rate * lost * lost;
  }
  return losses;
}

double mean_down_at(const JobModel& job, const RecoveryPaths& paths, Seconds time) {
  double mean = 0.0;
  for (const RecoveryPath& path : paths.paths) {
    if (path.nodes_lost > 0) {
      RepairLaw repair = job.hazards[path.hazard].repair;
      repair.longest = repair.longest ? min(*repair.longest, time) : time;
      mean += paths.rate * path.share * static_cast<double>(path.nodes_lost) * mean_repair(repair).value_or(time).si();
    }
  }
  return mean;
}

// Adds `weight` times what a count of this mean costs.
void add_shortage(NodeShortage& shortage, const JobModel& job, double mean, double dispersion, double weight) {
  const std::int64_t spares = job.spares.nodes;
  const double shape = shape_of_dispersion(mean, dispersion);
  const Excess excess = negative_binomial_excess(mean, shape, spares);
  const double last = negative_binomial_point(mean, shape, spares + 1);
  shortage.mean_missing += weight * excess.mean;
  shortage.none_left += weight * (excess.probability + negative_binomial_point(mean, shape, spares));
  shortage.waiting += weight * last / std::max(1.0 - excess.probability + last, 1e-300);
  if (job.policy.kind != RecoveryKind::kShrink) {
    return;
  }
  for (std::int64_t j = 0; j < job.replicas.count; ++j) {
    const std::int64_t at = spares + j * job.replicas.nodes_each;
    const double above = negative_binomial_excess(mean, shape, at).probability;
    shortage.replicas_missing += weight * above;
    shortage.regrowth_rate += weight * shortage.loss_rate * negative_binomial_point(mean, shape, at);
    if (above < 1e-12) {
      return;
    }
  }
}

}  // namespace

NodeShortage node_shortage(const JobModel& job, const RecoveryPaths& paths) {
  NodeShortage shortage;
  const Losses losses = losses_of(paths);
  if (losses.nodes <= 0.0) {
    return shortage;
  }
  shortage.loss_rate = losses.events;
  for (const RecoveryPath& path : paths.paths) {
    shortage.forever = shortage.forever || (path.nodes_lost > 0 && !job.hazards[path.hazard].repair.median);
  }
  const double dispersion = std::max(job.spares.variance_to_mean, losses.squares / losses.nodes);
  shortage.mean_down = mean_down_at(job, paths, job.length);
  if (shortage.mean_down <= 0.0) {
    return shortage;
  }
  shortage.p99_down =
      negative_binomial_quantile(shortage.mean_down, shape_of_dispersion(shortage.mean_down, dispersion), 0.99);
  constexpr std::array kTimes = {0.125, 0.375, 0.625, 0.875};  // of the job's length
  for (const double time : kTimes) {
    add_shortage(shortage, job, mean_down_at(job, paths, job.length * time), dispersion, 1.0 / kTimes.size());
  }
  return shortage;
}

}  // namespace trainyard::simulator
