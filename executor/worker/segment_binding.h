// Ties a compute instruction to its transformer function: buffers by content (core/program/operands.h),
// weights by kind and layer.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/program/program.h"
#include "executor/device/device.h"
#include "executor/transformer/block_shape.h"
#include "executor/worker/step_settings.h"

namespace trainyard::executor {

// What one instruction does; enqueues and returns.
using Action = std::function<void(const StepSettings&)>;

struct BindingContext {
  Device& device;
  const Role& role;
  const std::vector<Segment>& segments;
  const std::vector<std::byte*>& addresses;  // by BufferId
  BlockShape shape;
  const float* cosines = nullptr;
  const float* sines = nullptr;
  Coordinates coordinates;
  int tensor_size = 1;
};

Action bind_segment(const BindingContext& context, const Instruction& instruction);

}  // namespace trainyard::executor
