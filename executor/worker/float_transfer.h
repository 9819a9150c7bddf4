// Floats of the host to and from arrays of a device, of whatever type; blocks.
#pragma once

#include <cstdint>

#include "executor/device/device.h"

namespace trainyard::executor {

void write_floats(Device& device, Values to, const float* from, std::int64_t elements);
void read_floats(Device& device, ConstValues from, float* to, std::int64_t elements);

}  // namespace trainyard::executor
