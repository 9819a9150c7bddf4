// KernelCost: how long each operation takes on a rank of a machine.
//
// Measured profile (times of this machine, all its ranks at work):
//   Gemm         baseline t0 + c0 2mnk + c1 mn(1 or 2) + c2 mk + c3 nk, corrected by the samples near
//                (log2 m, log2 n, log2 k), per transpose; never faster than the best measured rate
//   Attention    baseline t0 + c0 FLOPs + c1 scores + c2 rows, corrected near
//                (log2 queries, log2 keys, log2 head size, log2 sequences x heads), per pass
//   Elementwise  time against bytes, per kernel
// See residual_fit.h and log_curve.h.
//
// Analytic profile, P the dense peak of the type, M the memory bandwidth (constants from the accelerator's
// file, with their sources):
//   Gemm         max( 2mnk / (P e) (1 + k0/k), bytes / (M emem) ) + t0
//   Attention    max( FLOPs / (P eat), bytes / (M emem) )   flash attention, FLOPs as the mask needs them
//   Elementwise  bytes / (M emem)
// No tile quantisation and no misalignment: shapes that aren't multiples of 64 run slower than this says.
#pragma once

#include <memory>
#include <vector>

#include "core/plan/device_profile.h"
#include "core/program/operation.h"
#include "core/units/quantity.h"

namespace trainyard::simulator {

class KernelCost {
 public:
  virtual ~KernelCost() = default;
  virtual Seconds time(const Operation& operation) const = 0;
  Seconds time(const std::vector<Operation>& operations) const;
};

// ranks_at_once: of the job on one machine, which chooses the set of samples. The profile is copied from.
// time() throws Error for an operation that the profile says nothing about (a type or a kernel).
std::unique_ptr<const KernelCost> kernel_cost(const DeviceProfile& profile, std::int64_t ranks_at_once);

}  // namespace trainyard::simulator
