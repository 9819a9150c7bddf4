// This process's memory as the kernel counts it.
#pragma once

#include "core/units/count.h"

namespace trainyard::executor {

// Largest resident size so far (VmHWM of /proc/self/status). Throws Error where /proc has none.
ByteCount resident_peak();

}  // namespace trainyard::executor
