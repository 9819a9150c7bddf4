// Device memory that isn't a buffer of the program: rotary tables [sequence, head size / 2] and the clip
// factor. The same for every layout, and small.
#pragma once

#include <cstdint>

#include "core/model/model_spec.h"
#include "executor/device/device.h"

namespace trainyard::executor {

struct Constants {
  const float* cosines = nullptr;
  const float* sines = nullptr;
  float* clip_scale = nullptr;
};

class DeviceConstants {
 public:
  DeviceConstants(Device& device, const ModelSpec& model, std::int64_t sequence);
  ~DeviceConstants();
  DeviceConstants(const DeviceConstants&) = delete;
  DeviceConstants& operator=(const DeviceConstants&) = delete;

  Constants addresses() const { return {cosines_, sines_, clip_scale_}; }

 private:
  Device& device_;
  float* cosines_ = nullptr;
  float* sines_ = nullptr;
  float* clip_scale_ = nullptr;
};

}  // namespace trainyard::executor
