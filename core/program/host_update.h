// Host update: an optimizer whose state lies in host memory.
//
//   gradients down | norm, its sum over all ranks | the host's update | parameters up
//
// A bucket's gradients go down (Offload, on the stream of host copies) once they are reduced, beside the backward of
// layers before it; the host updates its buckets one by one when the global norm is there; each one's parameters go up
// while it updates the next. The update stands among the rank's compute: the process that does it launches no kernels
// meanwhile. State and copies in host memory are no buffers: those are of the device's memory alone.
// Source: Ren et al. 2021 (ZeRO-Offload), section 4.
#pragma once

#include "core/program/instruction.h"

namespace trainyard {

// An update that writes nothing on the device: its parameters come up by a copy behind it.
inline bool updates_on_host(const Instruction& instruction) {
  return instruction.kind == InstructionKind::kOptimizer && instruction.writes.empty();
}

}  // namespace trainyard
