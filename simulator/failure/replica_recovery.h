// Going on without a lost data-parallel replica: everyone stalls for s, then K - 1 of K replicas train while the lost
// one is rebuilt in b.
//
//   published, one failure every M   [(M - s - b) + b (K - 1)/K] / M                        (FT-HSDP, arXiv:2602.00277)
//   Poisson failures at rate lam     exp(-lam s) exp(-lam b / K)                            (ours)
//
// The second: nobody stalls while the last s had no failure; a replica is whole while it had none in the b before that,
// and each gets lam / K. Equal to the first order. A failure also discards the step under way: that factor is
// lam t / (exp(lam t) - 1), t the step time.
#pragma once

#include <cstdint>

#include "core/units/quantity.h"

namespace trainyard::simulator {

struct ReplicaRecovery {
  Seconds stall;
  Seconds rebuild;
  std::int64_t replicas = 2;
};

double published_replica_efficiency(Seconds between_failures, const ReplicaRecovery& recovery);
double replica_efficiency(PerSecond failure_rate, const ReplicaRecovery& recovery);

}  // namespace trainyard::simulator
