#include "simulator/failure/checkpoint_efficiency.h"

#include <cmath>

namespace trainyard::simulator {

double efficiency(const CheckpointCycle& cycle, bool recovery_can_fail) {
  const double rate = cycle.failure_rate.si();
  const double tau = cycle.interval.si();
  const double segment = tau + cycle.blocking.si();
  if (rate <= 0.0) {
    return tau / segment;
  }
  const double failed = cycle.recovery.si();
  // 1 / lam + mean recovery, times lam
  const double attempt = recovery_can_fail ? std::exp(rate * failed) : 1.0 + rate * failed;
  return rate * tau / (attempt * std::exp(rate * cycle.write.si()) * std::expm1(rate * segment));
}

double first_order_efficiency(const CheckpointCycle& cycle) {
  const double loss = cycle.failure_rate * (cycle.recovery + cycle.interval / 2.0);
  return (1.0 - loss) / (1.0 + cycle.blocking / cycle.interval);
}

bool first_order_holds(const CheckpointCycle& cycle) {
  constexpr double kTrusted = 0.15;
  return cycle.failure_rate * (cycle.recovery + cycle.interval / 2.0) < kTrusted;
}

Seconds waste_per_failure(Seconds save, Seconds interval, Seconds retrieve) { return save + interval / 2.0 + retrieve; }

}  // namespace trainyard::simulator
