#include "executor/run/cuda_capabilities.h"

#include "executor/run/cpu_capabilities.h"

namespace trainyard::executor {

Capabilities cuda_capabilities() {
  Capabilities capabilities = cpu_capabilities();
  capabilities.device = "cuda";
  capabilities.compute_types.push_back(DataType::kTf32);
  return capabilities;
}

Capabilities capabilities_of(DeviceKind kind) {
  return kind == DeviceKind::kCuda ? cuda_capabilities() : cpu_capabilities();
}

}  // namespace trainyard::executor
