// What becomes of the corruptions of a job: rates by outcome.
//
//   events -> masked by the values   (too small a change, or overwritten before it is used)
//          -> corrected              (checksum hardware)
//          -> crash                  (NaN or Inf: the check stops the job at that step)
//          -> found by a detector    (late by its latency)
//          -> undetected             (in the final model)
#pragma once

#include <array>

#include "simulator/failure/corruption_model.h"

namespace trainyard::simulator {

// Per second of the whole job.
struct CorruptionRates {
  double events = 0.0;
  double masked = 0.0;
  double corrected = 0.0;
  double crash = 0.0;
  double found = 0.0;
  double undetected = 0.0;
};

struct CorruptionFlow {
  std::array<CorruptionRates, 2> by_cause;  // by CorruptionCause
  CorruptionRates total;
  double latency = 0.0;      // s, mean of what is found
  double overhead = 0.0;     // of the step, all detectors that are on
  double alarm_share = 0.0;  // of running time, looking into false alarms
};

// detectors: those that are on, of model.detectors; replicas: data-parallel copies there are to compare.
CorruptionFlow corruption_flow(const CorruptionModel& model, const std::vector<DetectorKind>& detectors,
                               std::int64_t replicas);

}  // namespace trainyard::simulator
