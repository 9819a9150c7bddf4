// Hazard: one kind of failure of one job: how often, how it is noticed, what it takes down, how it is mended.
//
//   rate      of the whole job, per second: n nodes (or switches, cables, ...) times the rate of one. As published, it
//             counts refaults of returned nodes, too: simulation leaves them out of the arrivals and adds them where
//             they come
//   silent    a hang: nothing is reported, only a watchdog's timeout notices
//
// Arrival laws:
//   exponential  a Poisson process
//   weibull      times between the class's events with this shape and mean 1 / rate: below 1 bursty
//   frailty      node j fails at rate / n * g_j, g_j ~ Gamma(k, 1/k): bad nodes. A node's g_j is one for all classes.
#pragma once

#include <cstdint>
#include <string>

#include "core/units/quantity.h"
#include "simulator/failure/ranged.h"
#include "simulator/failure/repair_law.h"

namespace trainyard::simulator {

enum class ArrivalLaw : std::uint8_t { kExponential, kWeibull, kFrailty };

struct Hazard {
  std::string name;
  Ranged<PerSecond> rate;
  ArrivalLaw law = ArrivalLaw::kExponential;
  double weibull_shape = 1.0;

  Ranged<double> silent_share;  // of its events
  Ranged<Seconds> detection;    // of the explicit ones
  Ranged<Seconds> silent_detection;

  bool whole_job = false;       // hits every rank (storage, scheduler, software): no node or replica is left out
  std::int64_t nodes_down = 0;  // that one event takes out unless a process restart mends it; 0: software
  Ranged<double> process_restart_share;  // of its events, mended by restarting processes on the same nodes
  // Of the events that take nodes out, those after which every lost shard still has a copy in another node's memory
  // (peer_copies.h, or the fault domains and the layout).
  Ranged<double> copies_survive;

  RepairLaw repair;
  Ranged<double> refault_share;  // of the repaired nodes, those that fail again within the window
  Seconds refault_window;
};

}  // namespace trainyard::simulator
