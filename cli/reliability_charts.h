// Goodput by interval, MTTF by scale, and one simulated month, one below the other.
#pragma once

#include "cli/chart/drawing.h"
#include "cli/reliability_report.h"

namespace trainyard::cli {

Drawing reliability_charts(const ReliabilityAnswer& answer);

}  // namespace trainyard::cli
