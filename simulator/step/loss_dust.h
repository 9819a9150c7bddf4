// Losses as they are shown: no parts that are only rounding.
//
//   parts below 1 ns, negative ones too, are 0; the largest part but kIdeal takes them, so the sum stays
//
// kIdeal stays what it is, for MFU is its share of the step.
#pragma once

#include "simulator/throughput/step_loss.h"

namespace trainyard::simulator {

StepLosses without_dust(const StepLosses& losses);

}  // namespace trainyard::simulator
