// Silent corruption of one job: inputs.
//
//   compute errors   defective devices that now and then compute wrongly: incidents/s = G x pi x rho
//   stored bits      upsets in memory that ECC neither corrects nor reports
//
// Both as events per second of the whole job; what becomes of them is in corruption_flow.h. Kept apart because they do
// different things to a value: a stored flip hits any bit alike, half of the compute errors are zeros.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan/recovery_policy.h"
#include "core/program/data_type.h"
#include "core/units/quantity.h"
#include "simulator/failure/ranged.h"

namespace trainyard::simulator {

enum class CorruptionCause : std::uint8_t { kComputeError, kStoredBit };
enum class CorruptionSite : std::uint8_t { kWeights, kActivations, kGradients, kOptimizerState, kCommunication };
std::string_view to_string(CorruptionCause cause);
std::string_view to_string(CorruptionSite site);

// What a wrongly computing device makes of a value.
// Source: Tung et al., DSN 2026, arXiv:2605.04213: zeroed 50.68 %, flips 48.31 % (under 40 % of them of one bit),
// NaN or Inf 1.01 %.
struct ComputeErrorValues {
  double zeroed = 0.5068;
  double flipped = 0.4831;
  double not_finite = 0.0101;
  // Values of one incident, so that NaN or Inf shows in one of six (AEGIS, OSDI 2026: 3 of 18): 1 - 0.9899^18 = 1/6.
  double values = 18.0;
  double single_bit = 0.40;  // of the flipped; the rest as two flips of random bits
};

// What corruptions mean for training, as shares of events.
struct Consequence {
  double masked = 0.0;      // one value of billions within its usual range, or overwritten before it matters
  double silent = 0.0;      // wrong, and nothing shows
  double visible = 0.0;     // far outside: the loss or the gradient norm jumps
  double not_finite = 0.0;  // NaN or Inf
};

// Values of one kind. training_sites() in corruption_sites.h gives those of a job.
struct SiteExposure {
  CorruptionSite site = CorruptionSite::kWeights;
  DataType type = DataType::kBf16;
  double memory_share = 0.0;   // of the bits in memory
  double compute_share = 0.0;  // of the values computed
  Consequence compute_error;   // by data type and bit position, value_effect.h
  Consequence stored_bit;
};

// Figures of a detector; which are on is the plan's policy. What it can see at all: detector.h.
struct Detector {
  DetectorKind kind = DetectorKind::kLossSpike;
  Ranged<double> coverage;         // of what it can see
  Ranged<double> overhead;         // of the step
  Ranged<PerSecond> false_alarms;  // of the job
  Ranged<Seconds> alarm_cost;      // of looking into one
  Ranged<Seconds> latency;         // mean time from the corruption to its discovery
};

struct CorruptionModel {
  Ranged<PerSecond> compute_errors;
  Ranged<PerSecond> stored_bits;
  std::vector<SiteExposure> sites;
  bool not_finite_check = true;      // of loss and gradient norm, every step
  Ranged<double> checksum_coverage;  // of compute errors, by checksums in the accelerator; H100 has none: 0
  std::vector<Detector> detectors;   // those of the policy are used
};

}  // namespace trainyard::simulator
