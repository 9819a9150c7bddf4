// What the GPU executor can run today: every layout that the CPU's can, and products in tf32.
#pragma once

#include "core/plan/capabilities.h"
#include "executor/run/device_choice.h"

namespace trainyard::executor {

Capabilities cuda_capabilities();

Capabilities capabilities_of(DeviceKind kind);

}  // namespace trainyard::executor
