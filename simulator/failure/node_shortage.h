// Nodes away for repair, and what it costs that spares run out.
//
//   mean down   at t: sum over node losses of rate x nodes x E[min(repair, t)]   (M/G/infinity from empty: Poisson)
//               Repairs have tails of months, so a job of weeks is still filling up: shares are means over its length.
//   dispersion  variance / mean = max(given, E[k^2] / E[k]), k nodes an event: negative binomial p(c)
//   waiting     nothing fails while the job stands for want of a node: p(S + 1) / sum of p(0 .. S + 1), S spares
//   (Erlang B:
//               whatever the repair law)
//   provision   a node loss finds no spare with P(down >= S)
//   shrink      replicas left out: E[ceil((down - S)+ / nodes each)] = sum over j of P(down > S + j each)
//               restarts to take one in again: as often as one is left out, rate x sum over j of p(S + j each)
//
#pragma once

#include <cstdint>

#include "simulator/failure/job_model.h"
#include "simulator/failure/recovery_paths.h"

namespace trainyard::simulator {

struct NodeShortage {
  double loss_rate = 0.0;         // events that take nodes out, per second
  bool forever = false;           // some never come back
  double mean_down = 0.0;         // at the job's end
  std::int64_t p99_down = 0;      // then
  double waiting = 0.0;           // share of time
  double none_left = 0.0;         // P(down >= spares)
  double mean_missing = 0.0;      // E[(down - spares)+]
  double replicas_missing = 0.0;  // mean, where lost nodes aren't replaced
  double regrowth_rate = 0.0;     // of replicas taken in again, per second
};

NodeShortage node_shortage(const JobModel& job, const RecoveryPaths& paths);

}  // namespace trainyard::simulator
