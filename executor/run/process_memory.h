// This process's memory as the kernel counts it.
#pragma once

#include "core/units/count.h"

namespace trainyard::executor {

// Largest resident size so far (VmHWM of /proc/self/status). Throws Error where /proc has none.
ByteCount resident_peak();

// Starts the peak anew at the present size (proc(5), clear_refs). Where the system doesn't let us, the peak
// stays that since the process began.
void reset_resident_peak();

}  // namespace trainyard::executor
