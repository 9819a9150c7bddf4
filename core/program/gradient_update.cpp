#include "core/program/gradient_update.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/program/norm_sum.h"
#include "core/program/wire.h"

namespace trainyard {

namespace {
Elementwise pass_over(ElementwiseKernel kernel, std::int64_t n, std::int64_t read_bytes, std::int64_t written_bytes) {
  return {kernel, n, ByteCount(n * read_bytes), ByteCount(n * written_bytes)};
}
}  // namespace

GradientUpdate::GradientUpdate(StageContext& stage, const std::vector<Slot>& slots)
    : stage_(stage), passes_(stage.chunks.size(), 0) {
  for (const Slot& slot : slots) {
    passes_[static_cast<std::size_t>(slot.chunk)] += slot.kind == SlotKind::kBackwardInput ? 1 : 0;
  }
}

void GradientUpdate::finish_tensors(const Slot& slot, const std::vector<ParameterKind>& kinds,
                                    std::optional<int> layer) {
  for (ParameterKind kind : kinds) {
    if (kind == ParameterKind::kHead && stage_.plan.model.tied_embeddings) {
      if (stage_.has_both_ends() && !stage_.table_of_two_chunks()) {
        continue;  // complete with the embedding
      }
      kind = ParameterKind::kEmbedding;  // this stage's copy, or this chunk's part
    }
    const bool last = is_last_pass(slot.chunk, layer, kind);
    const Bucket& bucket = stage_.bucket_of(layer, kind);
    if (!last && !stage_.shards_gradients(bucket)) {
      continue;
    }
    std::int64_t& complete = complete_[bucket.id.at()];
    for (const BucketParameter& placed : bucket.parameters) {
      const bool whole_layer = layer && placed.parameter.layer == layer;
      if (whole_layer || (placed.parameter.kind == kind && placed.parameter.layer == layer)) {
        ++complete;
      }
    }
    if (complete < static_cast<std::int64_t>(bucket.parameters.size())) {
      continue;
    }
    if (stage_.shards_gradients(bucket)) {
      complete = 0;
      scatter_bucket(bucket, slot, last);
    } else if (stage_.layout.overlap_gradient_reduce) {
      reduce_bucket(bucket);
    }
  }
}

bool GradientUpdate::is_last_pass(int chunk, std::optional<int> layer, ParameterKind kind) {
  const bool two = kind == ParameterKind::kEmbedding && stage_.table_of_two_chunks();
  const std::int64_t all =
      two ? std::accumulate(passes_.begin(), passes_.end(), std::int64_t{0}) : passes_[static_cast<std::size_t>(chunk)];
  return ++finished_passes_[{two ? -1 : chunk, layer.value_or(-1), static_cast<int>(kind)}] == all;
}

void GradientUpdate::reduce_bucket(const Bucket& bucket) {
  if (shard_ranks(stage_.layout, bucket) > 1) {
    const auto kind = stage_.layout.zero_stage >= 1 ? CommunicationKind::kReduceScatter : CommunicationKind::kAllReduce;
    data_collective(InstructionKind::kReduce, kind, bucket, bucket.gradients_buffer, stage_.layout.gradient_type);
  }
  reduce_replicas(bucket);
}

// This micro-batch's whole gradients, added to the rank's shard. They stay until the pass scatters its next bucket, so
// that the gradients between are made elsewhere, while these are on their way.
void GradientUpdate::scatter_bucket(const Bucket& bucket, const Slot& slot, bool last) {
  const std::optional<BufferId> whole = stage_.take_whole_gradients(bucket);
  check(whole.has_value(), "a micro-batch has made its gradients");
  const InstructionId scatter = stage_.build.add(
      {.kind = InstructionKind::kReduce,
       .stream = Stream::kData,
       .bucket = bucket.id,
       .accumulate = true,
       .reads = {*whole},
       .writes = {bucket.gradients_buffer},
       .communication = collective(CommunicationKind::kReduceScatter, bucket, stage_.layout.gradient_type)});
  OnTheWay& before = on_the_way_[bucket.experts ? 1 : 0];
  if (before.microbatch == slot.microbatch && before.chunk == slot.chunk) {
    stage_.build.hold(before.gradients, scatter);
  }
  before = {slot.microbatch, slot.chunk, *whole};
  if (last) {
    reduce_replicas(bucket);
  }
}

// Shards of hybrid sharding are alike in every replica.
void GradientUpdate::reduce_replicas(const Bucket& bucket) {
  const int replicas = replica_ranks(stage_.layout);
  if (replicas == 1 || bucket.experts) {
    return;
  }
  const DataType type = stage_.layout.gradient_type;
  const std::int64_t elements = stage_.owned_range(bucket).size();
  const auto algorithm = choose_algorithm(CommunicationKind::kAllReduce, elements * size_of(type), replicas, false);
  stage_.build.add(
      {.kind = InstructionKind::kReduce,
       .stream = Stream::kData,
       .bucket = bucket.id,
       .reads = {bucket.gradients_buffer},
       .writes = {bucket.gradients_buffer},
       .communication = make_collective(CommunicationKind::kAllReduce, algorithm, group_id(GroupKind::kReplica),
                                        even_boundaries(elements, replicas), 0, type)});
}

Communication GradientUpdate::collective(CommunicationKind kind, const Bucket& bucket, DataType type) const {
  // Scatter and all-reduce take the same algorithm, so that ZeRO changes no bit of a gradient.
  const auto algorithm = choose_algorithm(CommunicationKind::kReduceScatter, bucket.elements * size_of(type),
                                          shard_ranks(stage_.layout, bucket), stage_.layout.strict_reduction);
  const auto index = static_cast<int>(static_cast<std::size_t>(stage_.key.data_index) % (bucket.boundaries.size() - 1));
  return make_collective(kind, algorithm, group_id(shard_group_kind(stage_.layout, bucket)), bucket.boundaries, index,
                         type, bucket.id);
}

void GradientUpdate::data_collective(InstructionKind instruction, CommunicationKind kind, const Bucket& bucket,
                                     BufferId buffer, DataType type) {
  stage_.build.add({.kind = instruction,
                    .stream = Stream::kData,
                    .bucket = bucket.id,
                    .reads = {buffer},
                    .writes = {buffer},
                    .after = instruction == InstructionKind::kReduce ? after_ : std::vector<BufferId>(),
                    .communication = collective(kind, bucket, type)});
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
    // Streams would let a bucket's reduction begin with its own gradients; it is to wait for everyone's.
    for (const Bucket& bucket : stage_.role.buckets) {
      after_.push_back(bucket.gradients_buffer);
    }
    for (const Bucket& bucket : stage_.role.buckets) {
      if (!stage_.shards_gradients(bucket)) {
        reduce_bucket(bucket);
      }
    }
  }
  reduce_copies();
  if (stage_.layout.sequence_parallel && stage_.layout.tensor > 1) {
    reduce_norm_weights();
  }
  for (const Bucket& bucket : stage_.role.buckets) {
    const std::int64_t n = stage_.owned_range(bucket).size();
    stage_.build.add(
        {.kind = InstructionKind::kGradientNorm,
         .bucket = bucket.id,
         .reads = {bucket.gradients_buffer},
         .writes = {stage_.sums},
         .operations = {pass_over(ElementwiseKernel::kSumOfSquares, n, size_of(stage_.layout.gradient_type), 0)}});
  }
  const bool on_host = stage_.layout.offload.optimizer;
  const std::vector<InstructionId> down = on_host ? copy_gradients_down() : std::vector<InstructionId>();
  reduce_sums();
  for (const Bucket& bucket : stage_.role.buckets) {
    if (on_host) {
      update_on_host(bucket, down[bucket.id.at()]);
    } else {
      optimize(bucket);
    }
    const bool updates_share = stage_.layout.zero_stage >= 1 && shard_ranks(stage_.layout, bucket) > 1;
    if (updates_share && !stage_.gathers_parameters(bucket)) {
      data_collective(InstructionKind::kGather, CommunicationKind::kAllGather, bucket, bucket.parameters_buffer,
                      stage_.layout.parameter_type);
    }
  }
}

// A table that first and last stage hold: each has seen its end of the model. DualPipe: a stage holds what its
// mirror holds too.
void GradientUpdate::reduce_copies() {
  const bool copies = stage_.uses_table_twice() && !stage_.has_both_ends();
  for (const Chunk& chunk : stage_.chunks) {
    if (copies && (chunk.embeds || chunk.has_head)) {
      const Bucket& bucket = stage_.bucket_of(std::nullopt, ParameterKind::kEmbedding);
      copies_collective(bucket, stage_.updated_range(bucket).size());
    }
  }
  if (stage_.layout.schedule == ScheduleKind::kDualPipe) {
    for (const Bucket& bucket : stage_.role.buckets) {
      copies_collective(bucket, stage_.owned_range(bucket).size());
    }
  }
}

void GradientUpdate::copies_collective(const Bucket& bucket, std::int64_t elements) {
  const DataType type = stage_.layout.gradient_type;
  stage_.build.add(
      {.kind = InstructionKind::kReduce,
       .stream = Stream::kData,
       .bucket = bucket.id,
       .reads = {bucket.gradients_buffer},
       .writes = {bucket.gradients_buffer},
       .communication = make_collective(CommunicationKind::kAllReduce, CollectiveAlgorithm::kDirect,
                                        group_id(GroupKind::kEmbedding), even_boundaries(elements, 2), 0, type)});
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

// A master copy is among the states; the working copy is then only written.
Elementwise GradientUpdate::update_pass(const Bucket& bucket) const {
  const Layout& layout = stage_.layout;
  const std::int64_t kept = stage_.states_per_parameter() * size_of(layout.optimizer_type);
  const std::int64_t weight = size_of(layout.parameter_type);
  const auto kernel =
      stage_.plan.training.optimizer == OptimizerKind::kAdamW ? ElementwiseKernel::kAdamW : ElementwiseKernel::kSgd;
  return pass_over(kernel, stage_.updated_range(bucket).size(),
                   size_of(layout.gradient_type) + kept + (stage_.has_master() ? 0 : weight), kept + weight);
}

void GradientUpdate::optimize(const Bucket& bucket) {
  const std::vector<BufferId>& state = stage_.states[bucket.id.at()];
  std::vector<BufferId> reads{bucket.gradients_buffer, stage_.sums, bucket.parameters_buffer};
  reads.insert(reads.end(), state.begin(), state.end());
  std::vector<BufferId> writes{bucket.parameters_buffer};
  writes.insert(writes.end(), state.begin(), state.end());
  stage_.build.add({.kind = InstructionKind::kOptimizer,
                    .bucket = bucket.id,
                    .reads = std::move(reads),
                    .writes = std::move(writes),
                    .operations = {update_pass(bucket)}});
}

// In the order in which they are complete, so that none waits behind one that isn't.
std::vector<InstructionId> GradientUpdate::copy_gradients_down() {
  std::vector<const Bucket*> order;
  for (const Bucket& bucket : stage_.role.buckets) {
    order.push_back(&bucket);
  }
  std::stable_sort(order.begin(), order.end(), [&](const Bucket* a, const Bucket* b) {
    return stage_.build.writer(a->gradients_buffer) < stage_.build.writer(b->gradients_buffer);
  });
  std::vector<InstructionId> down(order.size());
  for (const Bucket* bucket : order) {
    const std::int64_t n = stage_.updated_range(*bucket).size();
    down[bucket->id.at()] = stage_.build.add(
        {.kind = InstructionKind::kOffload,
         .stream = Stream::kHostCopy,
         .bucket = bucket->id,
         .reads = {bucket->gradients_buffer},
         .operations = {pass_over(ElementwiseKernel::kCopy, n, size_of(stage_.layout.gradient_type), 0)}});
  }
  return down;
}

void GradientUpdate::update_on_host(const Bucket& bucket, InstructionId gradients) {
  const InstructionId updated = stage_.build.add({.kind = InstructionKind::kOptimizer,
                                                  .bucket = bucket.id,
                                                  .reads = {stage_.sums},
                                                  .behind = {gradients},
                                                  .operations = {update_pass(bucket)}});
  const std::int64_t n = stage_.updated_range(bucket).size();
  stage_.build.add({.kind = InstructionKind::kOffload,
                    .stream = Stream::kHostCopy,
                    .bucket = bucket.id,
                    .writes = {bucket.parameters_buffer},
                    .behind = {updated},
                    .operations = {pass_over(ElementwiseKernel::kCopy, n, 0, size_of(stage_.layout.parameter_type))}});
}

}  // namespace trainyard
