// The interval between checkpoints that wastes least, in closed form. All give work between saves, the save not
// included (NVIDIA's adds it).
//
//   Young 1974             sqrt(2 w M)
//   Daly first order       sqrt(2 w (M + R)) - w
//   Daly 2006              w < 2M: sqrt(2wM) [1 + sqrt(w/2M)/3 + (w/2M)/9] - w, else M
//   exact, 2(a) and 2(b)   M [1 + W0(-exp(-w/M - 1))]   W0: Lambert. Independent of R, D and of the write b.
//   NVIDIA 2410.18124      save included: w + sqrt(2 (Tf + Tr) w + w^2)
//
// w: blocking time of a save, M: mean time to failure.
#pragma once

#include "core/units/quantity.h"

namespace trainyard::simulator {

Seconds young_interval(Seconds blocking, Seconds mttf);
Seconds daly_first_interval(Seconds blocking, Seconds mttf, Seconds restart);
Seconds daly_interval(Seconds blocking, Seconds mttf);
// For an infinite M infinite; for w = 0 zero: save as often as can be.
Seconds exact_interval(Seconds blocking, Seconds mttf);
Seconds nvidia_cycle(Seconds blocking, Seconds mttf, Seconds restart);

}  // namespace trainyard::simulator
