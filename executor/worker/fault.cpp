#include "executor/worker/fault.h"

#include <memory>
#include <vector>

namespace trainyard::executor {

namespace {

struct GradientPlace {
  float* values = nullptr;
  std::int64_t elements = 0;
};

GradientPlace find_gradient(const BindingContext& context, const Instruction& instruction, ParameterKind kind) {
  if (!instruction.bucket) {
    return {};
  }
  const Bucket& bucket = context.role.buckets[instruction.bucket->at()];
  for (const BucketParameter& placed : bucket.parameters) {
    if (placed.parameter.kind == kind && placed.parameter.layer == 0) {
      auto* gradients = reinterpret_cast<float*>(context.addresses[bucket.gradients_buffer.at()]);
      return {gradients + placed.offset, placed.elements};
    }
  }
  return {};
}

ByteCount bytes_of(const GradientPlace& place) { return ByteCount(place.elements * size_of(DataType::kFp32)); }

}  // namespace

Action scale_gradient(const BindingContext& context, const Instruction& gradient_norm) {
  const GradientPlace place = find_gradient(context, gradient_norm, ParameterKind::kGate);
  if (place.values == nullptr) {
    return {};
  }
  auto host = std::make_shared<std::vector<float>>(static_cast<std::size_t>(place.elements));
  Device* device = &context.device;
  const Stream stream = gradient_norm.stream;
  return [=](const StepSettings&) {
    device->copy_out(stream, host->data(), place.values, bytes_of(place));
    device->host_function(stream, [host] {
      for (float& value : *host) {
        value *= 1.01F;
      }
    });
    device->copy_in(stream, place.values, host->data(), bytes_of(place));
  };
}

Action keep_norm_gradient(const BindingContext& context, const Instruction& reduce, Action action) {
  const GradientPlace place = find_gradient(context, reduce, ParameterKind::kMlpNorm);
  if (place.values == nullptr) {
    return action;
  }
  auto host = std::make_shared<std::vector<float>>(static_cast<std::size_t>(place.elements));
  Device* device = &context.device;
  const Stream stream = reduce.stream;
  return [=](const StepSettings& settings) {
    device->copy_out(stream, host->data(), place.values, bytes_of(place));
    action(settings);
    device->copy_in(stream, place.values, host->data(), bytes_of(place));
  };
}

}  // namespace trainyard::executor
