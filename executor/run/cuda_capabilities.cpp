#include "executor/run/cuda_capabilities.h"

#include "executor/run/cpu_capabilities.h"

namespace trainyard::executor {

Capabilities cuda_capabilities() {
  Capabilities capabilities = cpu_capabilities();
  capabilities.device = "cuda";
  return capabilities;
}

Capabilities capabilities_of(DeviceKind kind) {
  return kind == DeviceKind::kCuda ? cuda_capabilities() : cpu_capabilities();
}

}  // namespace trainyard::executor
