#include "executor/worker/optimizer_update.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/program/operands.h"
#include "executor/worker/parameter_table.h"

namespace trainyard::executor {

namespace {

// Part of a bucket with one rule for weight decay.
struct UpdateRange {
  IndexRange elements;  // of the bucket
  bool decay = true;
};

const Bucket& bucket_of(const BindingContext& context, const Instruction& instruction) {
  check(instruction.bucket.has_value(), "an update belongs to a bucket");
  return context.role.buckets[instruction.bucket->at()];
}

IndexRange share(const BindingContext& context, const Bucket& bucket) {
  const auto index = static_cast<std::size_t>(context.coordinates.data);
  return {bucket.boundaries[index], bucket.boundaries[index + 1]};
}

IndexRange overlap(const BucketParameter& placed, IndexRange share) {
  const std::int64_t begin = std::max(placed.offset, share.begin);
  const std::int64_t end = std::min(placed.offset + placed.elements, share.end);
  return {begin, std::max(begin, end)};
}

std::vector<UpdateRange> update_ranges(const Bucket& bucket, IndexRange owned) {
  std::vector<UpdateRange> ranges;
  for (const BucketParameter& placed : bucket.parameters) {
    const IndexRange part = overlap(placed, owned);
    const bool decay = decays(placed.parameter);
    if (part.size() == 0) {
      continue;
    }
    if (!ranges.empty() && ranges.back().decay == decay && ranges.back().elements.end == part.begin) {
      ranges.back().elements.end = part.end;
    } else {
      ranges.push_back({part, decay});
    }
  }
  return ranges;
}

template <class T>
T* address(const BindingContext& context, std::optional<BufferId> id) {
  return id ? reinterpret_cast<T*>(context.addresses[id->at()]) : nullptr;
}

Values values(const BindingContext& context, BufferId id) {
  return {context.addresses[id.at()], context.role.buffers[id.at()].type};
}

struct UpdateOperands {
  Values parameters;      // of the bucket
  ConstValues gradients;  // of the bucket
  // Of what is owned.
  float* master = nullptr;  // null: the parameters are fp32 themselves
  float* momentum = nullptr;
  float* variance = nullptr;
  IndexRange owned;
};

void update(Device& device, Stream stream, const Training& training, const StepSettings& settings,
            const UpdateOperands& operands, const UpdateRange& range, const float* clip_scale) {
  const std::int64_t first = range.elements.begin;
  const std::int64_t in_shard = first - operands.owned.begin;
  float* momentum = operands.momentum == nullptr ? nullptr : operands.momentum + in_shard;
  const Values parameters = operands.parameters + first;
  float* master = operands.master == nullptr ? parameters.as<float>() : operands.master + in_shard;
  const Values working = operands.master == nullptr ? Values() : parameters;
  if (training.optimizer == OptimizerKind::kAdamW) {
    device.adamw(stream, adamw_options(training, settings, range.decay), master, working, operands.gradients + first,
                 momentum, operands.variance + in_shard, clip_scale, range.elements.size());
    return;
  }
  const double decay = range.decay ? training.weight_decay : 0.0;
  device.sgd(stream, static_cast<float>(settings.learning_rate), static_cast<float>(training.momentum),
             static_cast<float>(decay), master, working, operands.gradients + first, momentum, clip_scale,
             range.elements.size());
}

}  // namespace

AdamW adamw_options(const Training& training, const StepSettings& settings, bool decay) {
  const auto updates = static_cast<double>(settings.updates + 1);
  AdamW options;
  options.learning_rate = static_cast<float>(settings.learning_rate);
  options.beta1 = static_cast<float>(training.beta1);
  options.beta2 = static_cast<float>(training.beta2);
  options.epsilon = static_cast<float>(training.epsilon);
  options.weight_decay = decay ? static_cast<float>(training.weight_decay) : 0.0F;
  options.bias_correction1 = static_cast<float>(1.0 - std::pow(training.beta1, updates));
  options.bias_correction2 = static_cast<float>(1.0 - std::pow(training.beta2, updates));
  return options;
}

Action bind_gradient_norm(const BindingContext& context, const Instruction& instruction) {
  const Bucket& bucket = bucket_of(context, instruction);
  const ConstValues gradients = values(context, bucket.gradients_buffer);
  auto* sums = address<std::int64_t>(context, find_written(context.role, instruction, BufferContent::kSums));
  check(sums != nullptr, "a gradient norm writes the sums");
  std::vector<IndexRange> counted;
  for (const BucketParameter& placed : bucket.parameters) {
    const IndexRange part = overlap(placed, share(context, bucket));
    if (part.size() > 0 && (context.coordinates.tensor == 0 || !placed.tensor_replicated) &&
        !is_copy(placed.parameter, context.coordinates)) {
      counted.push_back(part);
    }
  }
  Device* device = &context.device;
  const Stream stream = instruction.stream;
  return [=](const StepSettings&) {
    for (const IndexRange& part : counted) {
      device->sum_of_squares(stream, gradients + part.begin, part.size(), sums);
    }
  };
}

Action bind_optimizer(const BindingContext& context, const Instruction& instruction, const Plan& plan,
                      float* clip_scale) {
  const Bucket& bucket = bucket_of(context, instruction);
  const bool sharded = plan.layout.zero_stage >= 1;
  UpdateOperands operands;
  operands.parameters = values(context, bucket.parameters_buffer);
  operands.gradients = values(context, bucket.gradients_buffer);
  operands.master = address<float>(context, find_written(context.role, instruction, BufferContent::kMaster));
  check(operands.master != nullptr || operands.parameters.type == DataType::kFp32,
        "parameters below fp32 have a master copy");
  operands.momentum = address<float>(context, find_written(context.role, instruction, BufferContent::kMomentum));
  operands.variance = address<float>(context, find_written(context.role, instruction, BufferContent::kVariance));
  operands.owned = sharded ? share(context, bucket) : IndexRange{0, bucket.elements};
  const auto* sums = address<const std::int64_t>(context, find_read(context.role, instruction, BufferContent::kSums));
  const auto limit = static_cast<float>(plan.training.clip_norm.value_or(0.0));
  check(sums != nullptr, "an update reads the gradient norm");
  Device* device = &context.device;
  const Stream stream = instruction.stream;
  return [=, training = plan.training, ranges = update_ranges(bucket, operands.owned)](const StepSettings& settings) {
    device->clip_scale(stream, sums, limit, settings.gradients, clip_scale);
    for (const UpdateRange& range : ranges) {
      update(*device, stream, training, settings, operands, range, clip_scale);
    }
  };
}

}  // namespace trainyard::executor
