#include "core/program/stage_context.h"

#include <algorithm>

#include "core/error.h"
#include "core/program/norm_sum.h"
#include "core/program/storage_type.h"
#include "core/program/wire.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {
// Passes ask for the first tensor of a group; some families store the group as one, or without it.
ParameterKind asked_for_as(ParameterKind stored) {
  switch (stored) {
    case ParameterKind::kQueryKeyValue:
      return ParameterKind::kQuery;
    case ParameterKind::kUp:
      return ParameterKind::kGate;
    default:
      return stored;
  }
}
}  // namespace

StageContext::StageContext(const Plan& for_plan, RoleKey of_key, SegmentTable& table, Role& of_role)
    : plan(for_plan),
      layout(for_plan.layout),
      key(of_key),
      segments(stage_segments(for_plan, of_key.tensor_index, table)),
      role(of_role),
      build(of_role, table),
      chunks(stage_chunks(for_plan.model, for_plan.layout, of_key.stage)) {
  make_persistent_buffers();
}

void StageContext::make_persistent_buffers() {
  role.buckets = stage_buckets(plan.model, layout, chunks, key.tensor_index);
  gathered_.resize(role.buckets.size());
  whole_gradients_.resize(role.buckets.size());
  for (Bucket& bucket : role.buckets) {
    const std::int64_t share = owned_range(bucket).size();
    bucket.parameters_buffer =
        build.persistent(BufferContent::kParameters, MemoryCause::kParameters,
                         gathers_parameters(bucket) ? share : bucket.elements, layout.parameter_type, bucket.id);
    bucket.gradients_buffer =
        build.persistent(BufferContent::kGradients, MemoryCause::kGradients,
                         shards_gradients(bucket) ? share : bucket.elements, layout.gradient_type, bucket.id);
    states.push_back(layout.offload.optimizer ? std::vector<BufferId>() : make_states(bucket));
  }
  const std::int64_t step_tokens = layout.accumulation * segments.shape.tokens;
  for (const Chunk& chunk : chunks) {
    if (chunk.embeds) {
      tokens = build.persistent(BufferContent::kTokens, MemoryCause::kTokens, step_tokens, DataType::kInt32);
    }
    if (chunk.has_head) {
      targets = build.persistent(BufferContent::kTargets, MemoryCause::kTokens, step_tokens, DataType::kInt32);
    }
  }
  sums = build.persistent(BufferContent::kSums, MemoryCause::kWorkspace, kSumsWords, DataType::kInt64);
}

std::vector<BufferId> StageContext::make_states(const Bucket& bucket) {
  std::vector<BufferId> made;
  const auto add = [&](BufferContent content) {
    made.push_back(build.persistent(content, MemoryCause::kOptimizer, updated_range(bucket).size(),
                                    layout.optimizer_type, bucket.id));
  };
  const bool adam = plan.training.optimizer == OptimizerKind::kAdamW;
  if (adam || plan.training.momentum != 0.0) {
    add(BufferContent::kMomentum);
  }
  if (adam) {
    add(BufferContent::kVariance);
  }
  if (has_master()) {
    add(BufferContent::kMaster);
  }
  return made;
}

bool StageContext::has_master() const { return size_of(layout.parameter_type) < size_of(layout.optimizer_type); }

std::int64_t StageContext::states_per_parameter() const {
  const bool adam = plan.training.optimizer == OptimizerKind::kAdamW;
  return (adam ? 2 : plan.training.momentum != 0.0 ? 1 : 0) + (has_master() ? 1 : 0);
}

IndexRange StageContext::owned_range(const Bucket& bucket) const {
  const std::size_t shares = bucket.boundaries.size() - 1;
  const auto i = static_cast<std::size_t>(key.data_index) % shares;
  return {bucket.boundaries[i], bucket.boundaries[i + 1]};
}

bool StageContext::gathers_parameters(const Bucket& bucket) const {
  return layout.zero_stage == 3 && shard_ranks(layout, bucket) > 1;
}

bool StageContext::shards_gradients(const Bucket& bucket) const {
  return layout.zero_stage >= 2 && shard_ranks(layout, bucket) > 1;
}

bool StageContext::uses_table_twice() const { return plan.model.tied_embeddings || plan.model.multi_token_layers > 0; }

bool StageContext::has_both_ends() const {
  const auto any = [&](bool Chunk::*end) {
    return std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) { return chunk.*end; });
  };
  return any(&Chunk::embeds) && any(&Chunk::has_head);
}

bool StageContext::table_of_two_chunks() const { return uses_table_twice() && has_both_ends() && chunks.size() > 1; }

IndexRange StageContext::updated_range(const Bucket& bucket) const {
  return layout.zero_stage >= 1 ? owned_range(bucket) : IndexRange{0, bucket.elements};
}

BufferId StageContext::activation(BufferContent content, std::int64_t elements, MemoryCause cause) {
  // Statistics of rows stay in fp32 whatever the products are in.
  const bool statistics = content == BufferContent::kRstd || content == BufferContent::kLogSumExp;
  return build.transient(content, cause, elements, statistics ? DataType::kFp32 : storage_type(layout.compute_type));
}

std::int64_t StageContext::stream_elements() const { return segments.shape.norm_tokens * segments.shape.hidden; }

std::int64_t StageContext::full_elements() const { return segments.shape.tokens * segments.shape.hidden; }

const Bucket& StageContext::bucket_of(std::optional<int> layer, ParameterKind kind) const {
  for (const Bucket& bucket : role.buckets) {
    for (const BucketParameter& placed : bucket.parameters) {
      if (asked_for_as(placed.parameter.kind) == asked_for_as(kind) && placed.parameter.layer == layer) {
        return bucket;
      }
    }
  }
  // Tied embeddings: the head uses the embedding's table.
  check(kind == ParameterKind::kHead && plan.model.tied_embeddings, "a parameter is in no bucket of its stage");
  return bucket_of(std::nullopt, ParameterKind::kEmbedding);
}

BufferId StageContext::weights_of(std::optional<int> layer, ParameterKind kind) const {
  const Bucket& bucket = bucket_of(layer, kind);
  if (!gathers_parameters(bucket)) {
    return bucket.parameters_buffer;
  }
  check(gathered(bucket).has_value(), "parameters are gathered before they are used");
  return *gathered(bucket);
}

BufferId StageContext::gradients_of(const Bucket& bucket) {
  if (!shards_gradients(bucket)) {
    return bucket.gradients_buffer;
  }
  std::optional<BufferId>& whole = whole_gradients_[bucket.id.at()];
  if (!whole) {
    whole = build.transient(BufferContent::kGradients, MemoryCause::kGathered, bucket.elements, layout.gradient_type);
  }
  return *whole;
}

std::optional<BufferId> StageContext::take_whole_gradients(const Bucket& bucket) {
  std::optional<BufferId> whole;
  std::swap(whole, whole_gradients_[bucket.id.at()]);
  if (whole) {
    // The next micro-batch's are fresh ones.
    for (const BucketParameter& placed : bucket.parameters) {
      std::erase(written_,
                 std::pair(static_cast<int>(asked_for_as(placed.parameter.kind)), placed.parameter.layer.value_or(-1)));
    }
  }
  return whole;
}

InstructionId StageContext::compute(InstructionKind kind, SegmentId segment, const Place& place,
                                    std::vector<BufferId> reads, std::vector<BufferId> writes) {
  return build.add({.kind = kind,
                    .microbatch = place.microbatch,
                    .chunk = place.chunk,
                    .layer = place.layer,
                    .segment = segment,
                    .reads = std::move(reads),
                    .writes = std::move(writes)});
}

void StageContext::weight_gradient(SegmentId segment, const Place& place, ParameterKind kind,
                                   std::vector<BufferId> reads, const Bucket* beside) {
  const Bucket& bucket = bucket_of(place.layer, kind);
  // The head of a tied model adds to the embedding's gradient, which is one tensor with two writers.
  const bool tied_head = kind == ParameterKind::kHead && plan.model.tied_embeddings;
  const std::pair<int, int> tensor{static_cast<int>(tied_head ? ParameterKind::kEmbedding : kind),
                                   place.layer.value_or(-1)};
  const bool seen = std::find(written_.begin(), written_.end(), tensor) != written_.end();
  if (!seen) {
    written_.push_back(tensor);
  }
  if (!gathers_parameters(bucket)) {
    reads.push_back(bucket.parameters_buffer);
  }
  std::vector<BufferId> writes{gradients_of(bucket)};
  if (beside != nullptr) {
    writes.push_back(gradients_of(*beside));
  }
  build.add({.kind = InstructionKind::kBackwardWeight,
             .microbatch = place.microbatch,
             .chunk = place.chunk,
             .layer = place.layer,
             .segment = segment,
             .bucket = bucket.id,
             .accumulate = seen,
             .reads = std::move(reads),
             .writes = std::move(writes)});
}

Communication StageContext::tensor_collective(CommunicationKind kind, std::int64_t elements) const {
  const std::int64_t bytes = elements * size_of(layout.communication_type);
  const auto algorithm = choose_algorithm(kind, bytes, layout.tensor, false);
  return make_collective(kind, algorithm, group_id(GroupKind::kTensor), even_boundaries(elements, layout.tensor),
                         key.tensor_index, layout.communication_type);
}

Communication StageContext::group_collective(GroupKind group, int members, CommunicationKind kind,
                                             std::int64_t elements) const {
  const DataType type = layout.communication_type;
  return make_collective(kind, choose_algorithm(kind, elements * size_of(type), members, false), group_id(group),
                         even_boundaries(elements, members), 0, type);
}

InstructionId StageContext::communicate(InstructionKind kind, Stream stream, const Place& place,
                                        std::vector<BufferId> reads, std::vector<BufferId> writes,
                                        Communication communication) {
  return build.add({.kind = kind,
                    .stream = stream,
                    .microbatch = place.microbatch,
                    .chunk = place.chunk,
                    .layer = place.layer,
                    .reads = std::move(reads),
                    .writes = std::move(writes),
                    .communication = std::move(communication)});
}

BufferId StageContext::reduce_partial(BufferId partial, const Place& place, BufferContent content, MemoryCause cause) {
  if (layout.tensor == 1) {
    return partial;
  }
  const bool shares = layout.sequence_parallel;
  const std::int64_t whole = role.buffers[partial.at()].elements;
  const BufferId result = shares ? activation(content, whole / full_elements() * stream_elements(), cause) : partial;
  build.add({.kind = InstructionKind::kReduce,
             .stream = Stream::kTensor,
             .microbatch = place.microbatch,
             .chunk = place.chunk,
             .layer = place.layer,
             .reads = {partial},
             .writes = {result},
             .communication =
                 tensor_collective(shares ? CommunicationKind::kReduceScatter : CommunicationKind::kAllReduce, whole)});
  return result;
}

BufferId StageContext::gather_shares(BufferId share, const Place& place, BufferContent content, MemoryCause cause) {
  if (layout.tensor == 1 || !layout.sequence_parallel) {
    return share;
  }
  const std::int64_t elements = role.buffers[share.at()].elements / stream_elements() * full_elements();
  const BufferId whole = activation(content, elements, cause);
  build.add({.kind = InstructionKind::kGather,
             .stream = Stream::kTensor,
             .microbatch = place.microbatch,
             .chunk = place.chunk,
             .layer = place.layer,
             .reads = {share},
             .writes = {whole},
             .communication = tensor_collective(CommunicationKind::kAllGather, elements)});
  return whole;
}

}  // namespace trainyard
