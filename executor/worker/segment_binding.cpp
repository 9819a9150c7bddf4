#include "executor/worker/segment_binding.h"

#include <algorithm>

#include "core/error.h"
#include "core/program/norm_sum.h"
#include "core/program/operands.h"
#include "executor/transformer/attention.h"
#include "executor/transformer/embedding.h"
#include "executor/transformer/head.h"
#include "executor/transformer/mlp.h"
#include "executor/transformer/norm.h"
#include "executor/worker/parameter_table.h"

namespace trainyard::executor {

namespace {

// Operand lookup for one instruction. Missing operands are bugs unless asked for as optional.
class Operands {
 public:
  Operands(const BindingContext& context, const Instruction& instruction)
      : context_(context), instruction_(instruction) {}

  ConstValues read(BufferContent content) const { return required(read_or_null(content)); }
  ConstValues read_or_null(BufferContent content) const { return at(find_read(context_.role, instruction_, content)); }
  Values written(BufferContent content) const {
    return required(at(find_written(context_.role, instruction_, content)));
  }
  // Statistics: fp32.
  const float* read_floats(BufferContent content) const { return floats(read(content)).as<float>(); }
  float* written_floats(BufferContent content) const {
    const Values values = written(content);
    floats(values);
    return values.as<float>();
  }
  // Of this instruction's micro-batch.
  const std::int32_t* tokens(BufferContent content) const {
    const auto* all = read(content).as<std::int32_t>();
    check(instruction_.microbatch.has_value(), "work on tokens belongs to a micro-batch");
    return all + *instruction_.microbatch * context_.shape.tokens;
  }
  std::int64_t* loss_sum() const { return written(BufferContent::kSums).as<std::int64_t>() + kSumWords; }
  ConstValues weight(ParameterKind kind) const {
    const ParameterPlace place = find(kind);
    return at(place.bucket->parameters_buffer) + place.parameter->offset;
  }
  Values gradient(ParameterKind kind) const {
    const ParameterPlace place = find(kind);
    return at(place.bucket->gradients_buffer) + place.parameter->offset;
  }
  // Null where the model has no such bias, and on all tensor-parallel ranks but the first for one that all of them
  // hold: it is added to a sum of their parts. A norm's is added to a whole.
  ConstValues bias(ParameterKind kind) const {
    const auto place = find_bias(context_.role, kind, layer_of(kind));
    const bool of_sum = kind == ParameterKind::kOutput || kind == ParameterKind::kDown;
    if (!place || (of_sum && context_.coordinates.tensor > 0)) {
      return {};
    }
    return at(place->bucket->parameters_buffer) + place->parameter->offset;
  }
  Values bias_gradient(ParameterKind kind) const {
    const auto place = find_bias(context_.role, kind, layer_of(kind));
    return place ? at(place->bucket->gradients_buffer) + place->parameter->offset : Values();
  }
  std::int64_t rows(ParameterKind kind) const { return find(kind).parameter->local_shape.front(); }

 private:
  template <class T>
  static T required(T values) {
    check(static_cast<bool>(values), "an instruction has the operands of its segment");
    return values;
  }
  static ConstValues floats(ConstValues values) {
    check(values.type == DataType::kFp32, "statistics are fp32");
    return values;
  }
  Values at(std::optional<BufferId> id) const {
    return id ? Values(context_.addresses[id->at()], context_.role.buffers[id->at()].type) : Values();
  }
  std::optional<int> layer_of(ParameterKind kind) const {
    const bool in_layer = kind != ParameterKind::kEmbedding && kind != ParameterKind::kPositionEmbedding &&
                          kind != ParameterKind::kFinalNorm && kind != ParameterKind::kHead;
    return in_layer ? instruction_.layer : std::nullopt;
  }
  ParameterPlace find(ParameterKind kind) const { return find_parameter(context_.role, kind, layer_of(kind)); }

  const BindingContext& context_;
  const Instruction& instruction_;
};

// Whether an earlier instruction of the step has made this one's gradients. The table's instruction doesn't say it of
// the positions: a tied table may have gradients of the head by then.
bool runs_before(const Role& role, const Instruction& instruction) {
  return std::any_of(
      role.instructions.begin(), role.instructions.begin() + instruction.id.value(),
      [&](const Instruction& other) { return other.kind == instruction.kind && other.segment == instruction.segment; });
}

Action bind_embedding(const BindingContext& context, const Instruction& instruction, Pass pass) {
  const Operands operands(context, instruction);
  Device* device = &context.device;
  const Stream stream = instruction.stream;
  const BlockShape shape = context.shape;
  const std::int32_t* tokens = operands.tokens(BufferContent::kTokens);
  if (pass == Pass::kForward) {
    const ConstValues table = operands.weight(ParameterKind::kEmbedding);
    const Values residual = operands.written(BufferContent::kResidual);
    // Added once, to the sum over tensor-parallel ranks.
    const bool adds_positions = !shape.rotary && context.coordinates.tensor == 0;
    const ConstValues positions = adds_positions ? operands.weight(ParameterKind::kPositionEmbedding) : ConstValues();
    return [=](const StepSettings&) {
      embedding_forward(*device, stream, shape, table, tokens, residual);
      if (positions) {
        position_forward(*device, stream, shape, positions, residual);
      }
    };
  }
  check(pass == Pass::kBackwardWeight, "tokens have no gradient");
  const ConstValues residual_grad = operands.read(BufferContent::kResidualGrad);
  const Values table_grad = operands.gradient(ParameterKind::kEmbedding);
  const Values positions_grad = shape.rotary ? Values() : operands.gradient(ParameterKind::kPositionEmbedding);
  const std::int64_t rows = shape.rotary ? 0 : operands.rows(ParameterKind::kPositionEmbedding);
  const bool again = runs_before(context.role, instruction);
  const bool accumulate = instruction.accumulate;
  return [=](const StepSettings&) {
    embedding_backward_weight(*device, stream, shape, tokens, residual_grad, table_grad, accumulate);
    if (positions_grad) {
      position_backward_weight(*device, stream, shape, residual_grad, positions_grad, rows, again);
    }
  };
}

Action bind_norm(const BindingContext& context, const Instruction& instruction, const Segment& segment, Pass pass) {
  const Operands operands(context, instruction);
  Device* device = &context.device;
  const Stream stream = instruction.stream;
  const BlockShape shape = context.shape;
  const ParameterKind kind = norm_parameter(context.role, context.segments, instruction);
  if (pass == Pass::kForward) {
    NormForward forward;
    forward.residual = operands.read(BufferContent::kResidual);
    forward.branch = segment.adds_branch ? operands.read(BufferContent::kBranch) : ConstValues();
    forward.weight = operands.weight(kind);
    forward.bias = operands.bias(kind);
    forward.sum = segment.adds_branch ? operands.written(BufferContent::kResidual) : Values();
    forward.normed = operands.written(BufferContent::kNormed);
    forward.rstd = operands.written_floats(BufferContent::kRstd);
    return [=](const StepSettings&) { norm_forward(*device, stream, shape, forward); };
  }
  NormBackward backward;
  backward.normed_grad = operands.read(BufferContent::kNormedGrad);
  backward.residual = operands.read(BufferContent::kResidual);
  backward.rstd = operands.read_floats(BufferContent::kRstd);
  if (pass == Pass::kBackwardInput) {
    backward.weight = operands.weight(kind);
    backward.incoming = operands.read_or_null(BufferContent::kResidualGrad);
    backward.residual_grad = operands.written(BufferContent::kResidualGrad);
    return [=](const StepSettings&) { norm_backward_input(*device, stream, shape, backward); };
  }
  const Values weight_grad = operands.gradient(kind);
  const Values bias_grad = operands.bias_gradient(kind);
  const bool accumulate = instruction.accumulate;
  return [=](const StepSettings&) {
    norm_backward_weight(*device, stream, shape, backward.normed_grad, backward.residual, backward.rstd, weight_grad,
                         bias_grad, accumulate);
  };
}

Action bind_attention(const BindingContext& context, const Instruction& instruction, Pass pass) {
  const Operands operands(context, instruction);
  Device* device = &context.device;
  const Stream stream = instruction.stream;
  const BlockShape shape = context.shape;
  const ParameterKind inputs = shape.inputs_first ? ParameterKind::kQueryKeyValue : ParameterKind::kQuery;
  const AttentionWeights weights{.qkv = operands.weight(inputs),
                                 .output = operands.weight(ParameterKind::kOutput),
                                 .qkv_bias = operands.bias(inputs),
                                 .output_bias = operands.bias(ParameterKind::kOutput),
                                 .cosines = context.cosines,
                                 .sines = context.sines};
  if (pass == Pass::kForward) {
    AttentionForward forward;
    forward.normed = operands.read(BufferContent::kNormed);
    forward.qkv = operands.written(BufferContent::kQkv);
    forward.attention = operands.written(BufferContent::kAttention);
    forward.log_sum_exp = operands.written_floats(BufferContent::kLogSumExp);
    forward.branch = operands.written(BufferContent::kBranch);
    return [=](const StepSettings&) { attention_forward(*device, stream, shape, weights, forward); };
  }
  if (pass == Pass::kBackwardInput) {
    AttentionBackwardInput backward;
    backward.branch_grad = operands.read(BufferContent::kResidualGrad);
    backward.qkv = operands.read(BufferContent::kQkv);
    backward.attention = operands.read(BufferContent::kAttention);
    backward.log_sum_exp = operands.read_floats(BufferContent::kLogSumExp);
    backward.attention_grad = operands.written(BufferContent::kAttentionGrad);
    backward.qkv_grad = operands.written(BufferContent::kQkvGrad);
    backward.normed_grad = operands.written(BufferContent::kNormedGrad);
    return [=](const StepSettings&) { attention_backward_input(*device, stream, shape, weights, backward); };
  }
  AttentionBackwardWeight backward;
  backward.branch_grad = operands.read(BufferContent::kResidualGrad);
  backward.attention = operands.read(BufferContent::kAttention);
  backward.qkv_grad = operands.read(BufferContent::kQkvGrad);
  backward.normed = operands.read(BufferContent::kNormed);
  backward.qkv_weight_grad = operands.gradient(inputs);
  backward.output_weight_grad = operands.gradient(ParameterKind::kOutput);
  backward.qkv_bias_grad = operands.bias_gradient(inputs);
  backward.output_bias_grad = operands.bias_gradient(ParameterKind::kOutput);
  backward.accumulate = instruction.accumulate;
  return [=](const StepSettings&) { attention_backward_weight(*device, stream, shape, backward); };
}

Action bind_mlp(const BindingContext& context, const Instruction& instruction, Pass pass) {
  const Operands operands(context, instruction);
  Device* device = &context.device;
  const Stream stream = instruction.stream;
  const BlockShape shape = context.shape;
  const ParameterKind inputs = shape.gated ? ParameterKind::kGate : ParameterKind::kUp;
  const MlpWeights weights{.gate_up = operands.weight(inputs),
                           .down = operands.weight(ParameterKind::kDown),
                           .up_bias = operands.bias(inputs),
                           .down_bias = operands.bias(ParameterKind::kDown)};
  if (pass == Pass::kForward) {
    MlpForward forward;
    forward.normed = operands.read(BufferContent::kNormed);
    forward.gate_up = operands.written(BufferContent::kGateUp);
    forward.activated = operands.written(BufferContent::kActivated);
    forward.branch = operands.written(BufferContent::kBranch);
    return [=](const StepSettings&) { mlp_forward(*device, stream, shape, weights, forward); };
  }
  if (pass == Pass::kBackwardInput) {
    MlpBackwardInput backward;
    backward.branch_grad = operands.read(BufferContent::kResidualGrad);
    backward.gate_up = operands.read(BufferContent::kGateUp);
    backward.activated_grad = operands.written(BufferContent::kActivatedGrad);
    backward.gate_up_grad = operands.written(BufferContent::kGateUpGrad);
    backward.normed_grad = operands.written(BufferContent::kNormedGrad);
    return [=](const StepSettings&) { mlp_backward_input(*device, stream, shape, weights, backward); };
  }
  MlpBackwardWeight backward;
  backward.branch_grad = operands.read(BufferContent::kResidualGrad);
  backward.activated = operands.read(BufferContent::kActivated);
  backward.gate_up_grad = operands.read(BufferContent::kGateUpGrad);
  backward.normed = operands.read(BufferContent::kNormed);
  backward.gate_up_weight_grad = operands.gradient(inputs);
  backward.down_weight_grad = operands.gradient(ParameterKind::kDown);
  backward.up_bias_grad = operands.bias_gradient(inputs);
  backward.down_bias_grad = operands.bias_gradient(ParameterKind::kDown);
  backward.accumulate = instruction.accumulate;
  return [=](const StepSettings&) { mlp_backward_weight(*device, stream, shape, backward); };
}

Action bind_residual(const BindingContext& context, const Instruction& instruction, Pass pass) {
  check(pass == Pass::kForward, "the gradient passes a residual addition unchanged");
  const Operands operands(context, instruction);
  Device* device = &context.device;
  const Stream stream = instruction.stream;
  const BlockShape shape = context.shape;
  const ConstValues residual = operands.read(BufferContent::kResidual);
  const ConstValues branch = operands.read(BufferContent::kBranch);
  const Values sum = operands.written(BufferContent::kResidual);
  return [=](const StepSettings&) { residual_forward(*device, stream, shape, residual, branch, sum); };
}

Action bind_head(const BindingContext& context, const Instruction& instruction, Pass pass) {
  const Operands operands(context, instruction);
  Device* device = &context.device;
  const Stream stream = instruction.stream;
  const BlockShape shape = context.shape;
  if (pass == Pass::kForward) {
    const ConstValues weight = operands.weight(ParameterKind::kHead);
    const ConstValues normed = operands.read(BufferContent::kNormed);
    const std::int32_t* targets = operands.tokens(BufferContent::kTargets);
    const Values logits = operands.written(BufferContent::kLogits);
    // [tp, t, 3]: this rank's part.
    float* statistics =
        operands.written_floats(BufferContent::kStatistics) + context.coordinates.tensor * shape.tokens * 3;
    return
        [=](const StepSettings&) { head_forward(*device, stream, shape, weight, normed, targets, logits, statistics); };
  }
  const ConstValues logits_grad = operands.read(BufferContent::kLogits);
  if (pass == Pass::kBackwardInput) {
    const ConstValues weight = operands.weight(ParameterKind::kHead);
    const Values normed_grad = operands.written(BufferContent::kNormedGrad);
    return [=](const StepSettings&) { head_backward_input(*device, stream, shape, weight, logits_grad, normed_grad); };
  }
  const ConstValues normed = operands.read(BufferContent::kNormed);
  const Values weight_grad = operands.gradient(ParameterKind::kHead);
  const bool accumulate = instruction.accumulate;
  return [=](const StepSettings&) {
    head_backward_weight(*device, stream, shape, logits_grad, normed, weight_grad, accumulate);
  };
}

Action bind_loss(const BindingContext& context, const Instruction& instruction, Pass pass) {
  check(pass == Pass::kForward, "the loss makes its gradient in its forward pass");
  const Operands operands(context, instruction);
  Device* device = &context.device;
  const Stream stream = instruction.stream;
  const BlockShape shape = context.shape;
  LossOperands bound;
  bound.logits = operands.written(BufferContent::kLogits);
  bound.targets = operands.tokens(BufferContent::kTargets);
  bound.statistics = operands.read_floats(BufferContent::kStatistics);
  bound.parts = context.tensor_size;
  bound.loss_sum = context.coordinates.tensor == 0 ? operands.loss_sum() : nullptr;
  return [=](const StepSettings& settings) {
    LossOperands now = bound;
    now.scale = settings.loss_scale;
    loss(*device, stream, shape, now);
  };
}

}  // namespace

Action bind_segment(const BindingContext& context, const Instruction& instruction) {
  check(instruction.segment.has_value(), "compute instructions have a segment");
  const Segment& segment = context.segments[instruction.segment->at()];
  const Pass pass = pass_of(instruction.kind);
  switch (segment.kind) {
    case SegmentKind::kEmbedding:
      return bind_embedding(context, instruction, pass);
    case SegmentKind::kNorm:
      return bind_norm(context, instruction, segment, pass);
    case SegmentKind::kAttention:
      return bind_attention(context, instruction, pass);
    case SegmentKind::kMlp:
      return bind_mlp(context, instruction, pass);
    case SegmentKind::kResidual:
      return bind_residual(context, instruction, pass);
    case SegmentKind::kHead:
      return bind_head(context, instruction, pass);
    case SegmentKind::kLoss:
      return bind_loss(context, instruction, pass);
    case SegmentKind::kQueryKeyValue:
    case SegmentKind::kScores:
    case SegmentKind::kProjection:
    case SegmentKind::kRouter:
    case SegmentKind::kExperts:
    case SegmentKind::kCombine:
    case SegmentKind::kMerge:
      break;  // not among the executor's capabilities
  }
  check(false, "unknown segment kind");
  return {};
}

}  // namespace trainyard::executor
