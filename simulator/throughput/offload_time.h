// Offload of activations and parameters: what crosses PCIe in every micro-batch, and what compute doesn't hide of it.
//
//   activations  those of the stage's layers go to the host in forward and come back in backward
//   parameters   come from the host for forward and again for backward (gradients and state: update_time.h)
//   exposed      max(0, t - c) + (1 - o) min(t, c)     t: bytes / link, c: compute of the micro-batch, o: the stack's
//   overlap
// Source: Rajbhandari et al. 2021 (ZeRO-Infinity), section 5; Isaev et al. 2023 (Calculon), section 3.
#pragma once

#include "core/layout/layout.h"
#include "core/units/quantity.h"
#include "simulator/throughput/machine_rates.h"

namespace trainyard::simulator {

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
