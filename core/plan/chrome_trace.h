// A trace as Chrome Trace Event JSON, which Perfetto opens: a process per rank, a thread per stream.
//
// A predicted and a measured one together: for each rank a process of either ("rank 3, predicted", "rank 3, measured")
// beside each other. A predicted trace has one rank for all that are equal to it.
// Source: Trace Event Format (Google, 2016).
#pragma once

#include <string>

#include "core/plan/trace.h"

namespace trainyard {

std::string to_chrome_json(const Trace& trace);
std::string to_chrome_json(const Trace& predicted, const Trace& measured);

}  // namespace trainyard
