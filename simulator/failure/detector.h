// What a detector of silent corruption can see at all: 0 to 1, before its coverage.
//
//   loss spike, gradient norm   values far outside the usual alone
//   replica hash                what differs between data-parallel copies: weights and optimizer state; nothing that
//                               happened before the gradient all-reduce, which reaches every copy
//   GEMM checksum (ABFT)        wrong matrix products: activations, gradients; no stored bit, whose checksum agrees
//   re-execution                wrong computing anywhere, on another device: devices repeat their own errors
//
// Sources: AEGIS (OSDI 2026), TrainSDC (arXiv:2608.30769); replica hash: reasoning, no published recall was found.
#pragma once

#include "simulator/failure/corruption_model.h"

namespace trainyard::simulator {

struct DetectorReach {
  double silent = 0.0;
  double visible = 0.0;
};

DetectorReach detector_reach(DetectorKind kind, CorruptionCause cause, CorruptionSite site, std::int64_t replicas);

}  // namespace trainyard::simulator
