// Expected share of useful time with checkpoints and exponential failures, one class, one level.
//
//   tau  work between saves     w  training blocked by a save     D  detection     R  restart     lam = 1 / MTTF
//   b    time that a save is written in the background: until its end it doesn't count, a failure goes back one more
//
//   (a) recovery can't fail    E = tau / [ (1/lam + D + R) exp(lam b) (exp(lam (tau + w)) - 1) ]
//   (b) recovery can fail      E = tau lam / [ exp(lam (D + R)) exp(lam b) (exp(lam (tau + w)) - 1) ]       (Daly 2006)
//   first order (Kokolis 2025) E = [1 - lam (R + tau/2)] / (1 + w/tau); trust it while lam (R + tau/2) < 0.15
//
// exp(lam b): from the instant a save counts to the next is tau + w undisturbed; after a failure tau + w + b, as the
// first save after it needs its write too. With x = lam (tau + w), y = x + lam b and recovery X:
//   (1 - e^-x) / lam + (1 - e^-x) [X + (1/lam + X)(e^y - 1)] = (1/lam + X) e^(lam b) (e^x - 1).   (ours)
// Holds for b <= tau: a save begins after the one before has been written.
#pragma once

#include "core/units/quantity.h"

namespace trainyard::simulator {

struct CheckpointCycle {
  PerSecond failure_rate;
  Seconds interval;  // tau
  Seconds blocking;  // w
  Seconds write;     // b
  Seconds recovery;  // D + R
};

double efficiency(const CheckpointCycle& cycle, bool recovery_can_fail);
double first_order_efficiency(const CheckpointCycle& cycle);
bool first_order_holds(const CheckpointCycle& cycle);

// Mean waste per failure with copies in memory or storage (Gemini, SOSP 2023): t_save + interval / 2 + t_retrieve.
Seconds waste_per_failure(Seconds save, Seconds interval, Seconds retrieve);

}  // namespace trainyard::simulator
