// Offload: what crosses PCIe, what the host computes, and what compute doesn't hide of both.
//
//   optimizer    28 bytes of host memory per parameter, at a device's share of its host's bandwidth; once a step
//                (gradients and parameters over PCIe: update_time.h)
//   activations  those of the stage's layers go to the host in forward and come back in backward
//   parameters   come from the host for forward and again for backward
//   exposed      max(0, t - c) + (1 - o) min(t, c)     t: bytes / link, c: compute of the micro-batch, o: the stack's
//   overlap
// Source: Rajbhandari et al. 2021 (ZeRO-Infinity), section 5; Isaev et al. 2023 (Calculon), section 3.
#pragma once

#include "core/layout/layout.h"
#include "core/units/quantity.h"
#include "simulator/throughput/machine_rates.h"

namespace trainyard::simulator {

constexpr double kHostUpdateBytes = 28.0;
// A device's share of its host's memory bandwidth.
constexpr BytesPerSecond kHostMemory = from_si<BytesPerSecond>(40e9);

// Of so many parameters, by a host whose cores keep up with its memory.
inline Seconds host_update_time(double parameters) {
  return from_si<Bytes>(kHostUpdateBytes * parameters) / kHostMemory;
}

// activations: bytes that a micro-batch leaves on the stage; parameters: bytes of the stage's weights.
inline Seconds offload_time(const Layout& layout, const MachineRates& rates, Bytes activations, Bytes parameters,
                            Seconds compute) {
  Bytes moved;
  if (layout.offload.activations) {
    moved += 2.0 * activations;
  }
  if (layout.offload.parameters) {
    moved += 2.0 * parameters;
  }
  const Seconds spent = moved / rates.host_link;
  return max(Seconds(), spent - compute) + (1.0 - rates.overlap) * min(spent, compute);
}

}  // namespace trainyard::simulator
