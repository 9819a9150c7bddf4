#include "simulator/failure/replica_recovery.h"

#include <cmath>

namespace trainyard::simulator {

double published_replica_efficiency(Seconds between_failures, const ReplicaRecovery& recovery) {
  const auto replicas = static_cast<double>(recovery.replicas);
  const Seconds whole = between_failures - recovery.stall - recovery.rebuild;
  return (whole + recovery.rebuild * ((replicas - 1.0) / replicas)) / between_failures;
}

double replica_efficiency(PerSecond failure_rate, const ReplicaRecovery& recovery) {
  const Seconds lost = recovery.stall + recovery.rebuild / static_cast<double>(recovery.replicas);
  return std::exp(-(failure_rate * lost));
}

}  // namespace trainyard::simulator
