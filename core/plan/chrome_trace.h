// A predicted and a measured trace as one Chrome Trace Event JSON, which Perfetto opens: for each rank a process of
// either ("rank 3, predicted", "rank 3, measured") beside each other, a thread per stream. A predicted trace has one
// rank for all that are equal to it.
//
// Of one trace: to_chrome_json in core/plan/trace.h.
// Source: Trace Event Format (Google, 2016).
#pragma once

#include <string>

#include "core/plan/trace.h"

namespace trainyard {

std::string to_chrome_json(const Trace& predicted, const Trace& measured);

}  // namespace trainyard
