// What the CPU executor can run today.
#pragma once

#include "core/plan/capabilities.h"

namespace trainyard::executor {

Capabilities cpu_capabilities();

}  // namespace trainyard::executor
