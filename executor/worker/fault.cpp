#include "executor/worker/fault.h"

#include <memory>
#include <vector>

#include "executor/device/convert.h"

namespace trainyard::executor {

namespace {

struct GradientPlace {
  Values values;
  std::int64_t elements = 0;
};

GradientPlace find_gradient(const BindingContext& context, const Instruction& instruction, ParameterKind kind) {
  if (!instruction.bucket) {
    return {};
  }
  const Bucket& bucket = context.role.buckets[instruction.bucket->at()];
  for (const BucketParameter& placed : bucket.parameters) {
    if (placed.parameter.kind == kind && placed.parameter.layer == 0) {
      const BufferId id = bucket.gradients_buffer;
      const Values gradients(context.addresses[id.at()], context.role.buffers[id.at()].type);
      return {gradients + placed.offset, placed.elements};
    }
  }
  return {};
}

ByteCount bytes_of(const GradientPlace& place) { return ByteCount(place.elements * size_of(place.values.type)); }

}  // namespace

Action scale_gradient(const BindingContext& context, const Instruction& gradient_norm) {
  const GradientPlace place = find_gradient(context, gradient_norm, ParameterKind::kGate);
  if (!place.values) {
    return {};
  }
  const auto host = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes_of(place).value()));
  Device* device = &context.device;
  const Stream stream = gradient_norm.stream;
  return [=](const StepSettings&) {
    device->copy_out(stream, host->data(), place.values.data, bytes_of(place));
    device->host_function(stream, [host, place] {
      std::vector<float> values(static_cast<std::size_t>(place.elements));
      to_floats(ConstValues(host->data(), place.values.type), values.data(), place.elements);
      for (float& value : values) {
        value *= 1.01F;
      }
      from_floats(values.data(), Values(host->data(), place.values.type), place.elements);
    });
    device->copy_in(stream, place.values.data, host->data(), bytes_of(place));
  };
}

Action keep_norm_gradient(const BindingContext& context, const Instruction& reduce, Action action) {
  const GradientPlace place = find_gradient(context, reduce, ParameterKind::kMlpNorm);
  if (!place.values) {
    return action;
  }
  const auto host = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes_of(place).value()));
  Device* device = &context.device;
  const Stream stream = reduce.stream;
  return [=](const StepSettings& settings) {
    device->copy_out(stream, host->data(), place.values.data, bytes_of(place));
    action(settings);
    device->copy_in(stream, place.values.data, host->data(), bytes_of(place));
  };
}

}  // namespace trainyard::executor
