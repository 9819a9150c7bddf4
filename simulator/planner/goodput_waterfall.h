// GoodputWaterfall: where the wall clock of a useful step goes, from what the peak allows to what failures leave.
//
//   wall clock of a useful step = step / goodput = sum over parts,  exactly
//   part of a loss = the step's (step_loss.h)     part of a waste = its share of the wall clock x step / goodput
//
// Without a goodput (no failure profile, or a job that never gets on) the parts are the step's alone.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "core/units/quantity.h"
#include "simulator/failure/time_use.h"
#include "simulator/throughput/step_loss.h"

namespace trainyard::simulator {

using WaterfallCause = std::variant<StepLoss, TimeUse>;
std::string_view to_string(const WaterfallCause& cause);

struct WaterfallPart {
  WaterfallCause cause;
  Seconds time;  // of the wall clock of a useful step
};

struct GoodputWaterfall {
  std::vector<WaterfallPart> parts;  // kIdeal first, the step's, then what failures waste; zero ones left out
  Seconds step;                      // sum of the step's parts
  Seconds wall;                      // sum of all
  double goodput = 1.0;              // step / wall

  Seconds of(const WaterfallCause& cause) const;
  // Share of the wall clock: of the peak, what this part takes away (kIdeal: what is left).
  double share(const WaterfallPart& part) const { return part.time / wall; }
};

// shares: of a job's wall clock; null without failures.
GoodputWaterfall goodput_waterfall(const StepLosses& losses, const TimeUses* shares);

// Where one takes longer than the other, the largest difference first; parts that differ by less than 1 ns left out.
struct WaterfallDifference {
  WaterfallCause cause;
  Seconds a;
  Seconds b;
  Seconds difference() const { return b - a; }
};
std::vector<WaterfallDifference> differences(const GoodputWaterfall& a, const GoodputWaterfall& b);

}  // namespace trainyard::simulator
