#include "core/program/gradient_update.h"

#include <utility>
#include <vector>

#include "core/program/norm_sum.h"
#include "core/program/wire.h"

namespace trainyard {

namespace {
Elementwise pass_over(ElementwiseKernel kernel, std::int64_t n, std::int64_t read, std::int64_t written) {
  return {kernel, n, ByteCount(read * 4), ByteCount(written * 4)};
}
}  // namespace

void GradientUpdate::finish_tensors(const Slot& slot, std::initializer_list<ParameterKind> kinds,
                                    std::optional<int> layer) {
  if (++finished_passes_[{slot.chunk, layer.value_or(-1), static_cast<int>(*kinds.begin())}] <
      stage_.layout.accumulation) {
    return;
  }
  for (ParameterKind kind : kinds) {
    if (kind == ParameterKind::kHead && stage_.plan.model.tied_embeddings) {
      continue;  // complete with the embedding
    }
    const Bucket& bucket = stage_.bucket_of(layer, kind);
    for (const BucketParameter& placed : bucket.parameters) {
      const bool whole_layer = layer && placed.parameter.layer == layer;
      if (whole_layer || (placed.parameter.kind == kind && placed.parameter.layer == layer)) {
        complete_[bucket.id.at()] += 1;
      }
    }
    const bool all = complete_[bucket.id.at()] == static_cast<std::int64_t>(bucket.parameters.size());
    if (all && stage_.layout.overlap_gradient_reduce) {
      reduce_bucket(bucket);
    }
  }
}

void GradientUpdate::reduce_bucket(const Bucket& bucket) {
  if (stage_.layout.data == 1) {
    return;
  }
  const auto kind = stage_.layout.zero_stage >= 1 ? CommunicationKind::kReduceScatter : CommunicationKind::kAllReduce;
  data_collective(InstructionKind::kReduce, kind, bucket, bucket.gradients_buffer, stage_.layout.gradient_type);
}

void GradientUpdate::data_collective(InstructionKind instruction, CommunicationKind kind, const Bucket& bucket,
                                     BufferId buffer, DataType type) {
  // Scatter and all-reduce take the same algorithm, so that ZeRO changes no bit of a gradient.
  const auto algorithm = choose_algorithm(CommunicationKind::kReduceScatter, bucket.elements * size_of(type),
                                          stage_.layout.data, stage_.layout.strict_reduction);
  stage_.build.add({.kind = instruction,
                    .stream = Stream::kData,
                    .bucket = bucket.id,
                    .reads = {buffer},
                    .writes = {buffer},
                    .communication = make_collective(kind, algorithm, group_id(GroupKind::kData), bucket.boundaries,
                                                     stage_.key.data_index, type, bucket.id)});
}

void GradientUpdate::reduce_sums() {
  const auto world = static_cast<int>(stage_.layout.ranks());
  if (world == 1) {
    return;
  }
  const auto algorithm = choose_algorithm(CommunicationKind::kAllReduce, kSumsWords * 8, world, false);
  stage_.build.add(
      {.kind = InstructionKind::kNormReduce,
       .stream = Stream::kData,
       .reads = {stage_.sums},
       .writes = {stage_.sums},
       .communication = make_collective(CommunicationKind::kAllReduce, algorithm, group_id(GroupKind::kWorld),
                                        even_boundaries(kSumsWords, world), 0, DataType::kInt64)});
}

void GradientUpdate::update() {
  if (!stage_.layout.overlap_gradient_reduce) {
    for (const Bucket& bucket : stage_.role.buckets) {
      reduce_bucket(bucket);
    }
  }
  if (stage_.layout.sequence_parallel && stage_.layout.tensor > 1) {
    reduce_norm_weights();
  }
  for (const Bucket& bucket : stage_.role.buckets) {
    const std::int64_t n = stage_.owned_range(bucket).size();
    stage_.build.add({.kind = InstructionKind::kGradientNorm,
                      .bucket = bucket.id,
                      .reads = {bucket.gradients_buffer},
                      .writes = {stage_.sums},
                      .operations = {pass_over(ElementwiseKernel::kSumOfSquares, n, n, 0)}});
  }
  reduce_sums();
  for (const Bucket& bucket : stage_.role.buckets) {
    optimize(bucket);
    if (stage_.layout.zero_stage >= 1 && stage_.layout.data > 1) {
      data_collective(InstructionKind::kGather, CommunicationKind::kAllGather, bucket, bucket.parameters_buffer,
                      stage_.layout.parameter_type);
    }
  }
}

// Under sequence parallelism each tp rank has seen its share of the tokens only, so the gradients of the
// replicated norms are partial over tp (Megatron-LM reduces them after the last micro-batch).
void GradientUpdate::reduce_norm_weights() {
  for (const Bucket& bucket : stage_.role.buckets) {
    std::int64_t elements = 0;
    for (const BucketParameter& placed : bucket.parameters) {
      elements += placed.tensor_replicated ? placed.elements : 0;
    }
    if (elements > 0) {
      stage_.build.add({.kind = InstructionKind::kReduce,
                        .stream = Stream::kTensor,
                        .bucket = bucket.id,
                        .reads = {bucket.gradients_buffer},
                        .writes = {bucket.gradients_buffer},
                        .communication = stage_.tensor_collective(CommunicationKind::kAllReduce, elements)});
    }
  }
}

void GradientUpdate::optimize(const Bucket& bucket) {
  const std::int64_t n = stage_.updated_range(bucket).size();
  const std::vector<BufferId>& state = stage_.states[bucket.id.at()];
  const auto states = static_cast<std::int64_t>(state.size());
  std::vector<BufferId> reads{bucket.gradients_buffer, stage_.sums, bucket.parameters_buffer};
  reads.insert(reads.end(), state.begin(), state.end());
  std::vector<BufferId> writes{bucket.parameters_buffer};
  writes.insert(writes.end(), state.begin(), state.end());
  const auto kernel =
      stage_.plan.training.optimizer == OptimizerKind::kAdamW ? ElementwiseKernel::kAdamW : ElementwiseKernel::kSgd;
  stage_.build.add({.kind = InstructionKind::kOptimizer,
                    .bucket = bucket.id,
                    .reads = std::move(reads),
                    .writes = std::move(writes),
                    .operations = {pass_over(kernel, n, (2 + states) * n, (1 + states) * n)}});
}

}  // namespace trainyard
