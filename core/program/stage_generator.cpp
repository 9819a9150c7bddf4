#include "core/program/stage_generator.h"

#include <algorithm>

#include "core/error.h"
#include "core/layout/tensor_sharding.h"
#include "core/program/norm_sum.h"
#include "core/program/wire.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {

constexpr GroupId group_id(GroupKind kind) { return GroupId(static_cast<int>(kind)); }

// What forward leaves for the backward of one layer.
struct LayerStash {
  BufferId residual;  // input of the attention norm
  BufferId attention_normed, attention_rstd, qkv, attention, log_sum_exp;
  BufferId mlp_residual, mlp_normed, mlp_rstd, gate_up, activated;
};

struct ChunkStash {
  std::map<std::int64_t, LayerStash> layers;
  // Under full recomputation: what each layer's forward starts from.
  std::map<std::int64_t, BufferId> layer_input;
  BufferId final_residual, final_normed, final_rstd, logits;
  std::optional<BufferId> sent;
};

class StageGenerator {
 public:
  StageGenerator(const Plan& plan, ProgramKind kind, RoleKey key, SegmentTable& table, Role& role)
      : plan_(plan),
        layout_(plan.layout),
        kind_(kind),
        key_(key),
        segments_(stage_segments(plan, key.tensor_index, table)),
        role_(role),
        build_(role, table),
        chunks_(stage_chunks(plan.model, plan.layout, key.stage)),
        previous_schedule_(stage_schedule(layout_.schedule, layout_.pipeline,
                                          (key.stage + layout_.pipeline - 1) % layout_.pipeline,
                                          layout_.chunks_per_stage, static_cast<int>(layout_.accumulation))) {}

  void generate() {
    make_persistent_buffers();
    const auto microbatches = static_cast<int>(layout_.accumulation);
    for (const Slot& slot :
         stage_schedule(layout_.schedule, layout_.pipeline, key_.stage, layout_.chunks_per_stage, microbatches)) {
      if (slot.kind == SlotKind::kForward) {
        forward(slot);
      } else if (slot.kind == SlotKind::kBackwardInput && kind_ == ProgramKind::kTraining) {
        backward(slot);  // with the weight half, which the schedule puts right behind it
      }
    }
    if (kind_ == ProgramKind::kTraining) {
      update();
    } else {
      reduce_sums();
    }
    for (const SentGradient& sent : sent_gradients_) {
      build_.hold(sent.buffer, role_.instructions.back().id);
    }
    build_.close_step();
  }

 private:
  // --- Buffers -------------------------------------------------------------------------------------------
  void make_persistent_buffers() {
    role_.buckets = stage_buckets(plan_.model, layout_, chunks_, key_.tensor_index);
    for (Bucket& bucket : role_.buckets) {
      bucket.parameters_buffer = build_.persistent(BufferContent::kParameters, MemoryCause::kParameters,
                                                   bucket.elements, layout_.parameter_type, bucket.id);
      bucket.gradients_buffer = build_.persistent(BufferContent::kGradients, MemoryCause::kGradients, bucket.elements,
                                                  layout_.gradient_type, bucket.id);
      const bool adam = plan_.training.optimizer == OptimizerKind::kAdamW;
      const std::int64_t updated = updated_range(bucket).size();
      std::optional<BufferId> momentum, variance;
      if (adam || plan_.training.momentum != 0.0) {
        momentum = build_.persistent(BufferContent::kMomentum, MemoryCause::kOptimizer, updated, layout_.optimizer_type,
                                     bucket.id);
      }
      if (adam) {
        variance = build_.persistent(BufferContent::kVariance, MemoryCause::kOptimizer, updated, layout_.optimizer_type,
                                     bucket.id);
      }
      std::optional<BufferId> master;
      if (size_of(layout_.parameter_type) < size_of(layout_.optimizer_type)) {
        master = build_.persistent(BufferContent::kMaster, MemoryCause::kOptimizer, updated, layout_.optimizer_type,
                                   bucket.id);
      }
      states_.push_back({});
      for (const auto& state : {momentum, variance, master}) {
        if (state) {
          states_.back().push_back(*state);
        }
      }
    }
    const std::int64_t step_tokens = layout_.accumulation * segments_.shape.tokens;
    for (const Chunk& chunk : chunks_) {
      if (chunk.embeds) {
        tokens_ = build_.persistent(BufferContent::kTokens, MemoryCause::kTokens, step_tokens, DataType::kInt32);
      }
      if (chunk.has_head) {
        targets_ = build_.persistent(BufferContent::kTargets, MemoryCause::kTokens, step_tokens, DataType::kInt32);
      }
    }
    sums_ = build_.persistent(BufferContent::kSums, MemoryCause::kWorkspace, kSumsWords, DataType::kInt64);
  }

  IndexRange owned_range(const Bucket& bucket) const {
    const auto i = static_cast<std::size_t>(key_.data_index);
    return {bucket.boundaries[i], bucket.boundaries[i + 1]};
  }
  IndexRange updated_range(const Bucket& bucket) const {
    return layout_.zero_stage >= 1 ? owned_range(bucket) : IndexRange{0, bucket.elements};
  }

  BufferId activation(BufferContent content, std::int64_t elements, MemoryCause cause = MemoryCause::kActivations) {
    return build_.transient(content, cause, elements, layout_.compute_type);
  }
  std::int64_t stream_elements() const { return segments_.shape.norm_tokens * segments_.shape.hidden; }
  std::int64_t full_elements() const { return segments_.shape.tokens * segments_.shape.hidden; }

  const Bucket& bucket_of(std::optional<int> layer, ParameterKind kind) const {
    for (const Bucket& bucket : role_.buckets) {
      for (const BucketParameter& placed : bucket.parameters) {
        if (placed.parameter.kind == kind && placed.parameter.layer == layer) {
          return bucket;
        }
      }
    }
    // Tied embeddings: the head uses the embedding's table.
    check(kind == ParameterKind::kHead && plan_.model.tied_embeddings, "a parameter is in no bucket of its stage");
    return bucket_of(std::nullopt, ParameterKind::kEmbedding);
  }

  // --- Compute -------------------------------------------------------------------------------------------
  struct Place {
    int microbatch = 0;
    int chunk = 0;
    std::optional<int> layer;
  };

  InstructionId compute(InstructionKind kind, SegmentId segment, const Place& place, std::vector<BufferId> reads,
                        std::vector<BufferId> writes) {
    return build_.add({.kind = kind,
                       .microbatch = place.microbatch,
                       .chunk = place.chunk,
                       .layer = place.layer,
                       .segment = segment,
                       .reads = std::move(reads),
                       .writes = std::move(writes)});
  }

  void weight_gradient(SegmentId segment, const Place& place, ParameterKind kind, std::vector<BufferId> reads) {
    const Bucket& bucket = bucket_of(place.layer, kind);
    // The head of a tied model adds to the embedding's gradient, which is one tensor with two writers.
    const bool tied_head = kind == ParameterKind::kHead && plan_.model.tied_embeddings;
    const std::pair<int, int> tensor{static_cast<int>(tied_head ? ParameterKind::kEmbedding : kind),
                                     place.layer.value_or(-1)};
    const bool seen = std::find(written_.begin(), written_.end(), tensor) != written_.end();
    if (!seen) {
      written_.push_back(tensor);
    }
    reads.push_back(bucket.parameters_buffer);
    build_.add({.kind = InstructionKind::kBackwardWeight,
                .microbatch = place.microbatch,
                .chunk = place.chunk,
                .layer = place.layer,
                .segment = segment,
                .bucket = bucket.id,
                .accumulate = seen,
                .reads = std::move(reads),
                .writes = {bucket.gradients_buffer}});
  }

  // --- Communication -------------------------------------------------------------------------------------
  Communication tensor_collective(CommunicationKind kind, std::int64_t elements) const {
    const std::int64_t bytes = elements * size_of(layout_.communication_type);
    const auto algorithm = choose_algorithm(kind, bytes, layout_.tensor, false);
    return make_collective(kind, algorithm, group_id(GroupKind::kTensor), even_boundaries(elements, layout_.tensor),
                           key_.tensor_index, layout_.communication_type);
  }

  // g forward and f backward: partial sums over tp become whole. Under sequence parallelism each rank keeps
  // its share of the tokens. Returns the buffer that holds the result.
  BufferId reduce_partial(BufferId partial, const Place& place, BufferContent content, MemoryCause cause) {
    if (layout_.tensor == 1) {
      return partial;
    }
    const bool shares = layout_.sequence_parallel;
    const BufferId result = shares ? activation(content, stream_elements(), cause) : partial;
    build_.add({.kind = InstructionKind::kReduce,
                .stream = Stream::kTensor,
                .microbatch = place.microbatch,
                .chunk = place.chunk,
                .layer = place.layer,
                .reads = {partial},
                .writes = {result},
                .communication = tensor_collective(
                    shares ? CommunicationKind::kReduceScatter : CommunicationKind::kAllReduce, full_elements())});
    return result;
  }

  // f forward and g backward under sequence parallelism: the shares of all tp ranks.
  BufferId gather_shares(BufferId share, const Place& place, BufferContent content, MemoryCause cause) {
    if (layout_.tensor == 1 || !layout_.sequence_parallel) {
      return share;
    }
    const BufferId whole = activation(content, full_elements(), cause);
    build_.add({.kind = InstructionKind::kGather,
                .stream = Stream::kTensor,
                .microbatch = place.microbatch,
                .chunk = place.chunk,
                .layer = place.layer,
                .reads = {share},
                .writes = {whole},
                .communication = tensor_collective(CommunicationKind::kAllGather, full_elements())});
    return whole;
  }

  // chunk_number: global number of the chunk at the other end.
  InstructionId transfer(InstructionKind kind, Stream stream, const Place& place, BufferId buffer, int chunk_number) {
    Communication c;
    c.kind = kind == InstructionKind::kSend ? CommunicationKind::kSend : CommunicationKind::kRecv;
    c.algorithm = CollectiveAlgorithm::kDirect;
    c.group = group_id(GroupKind::kPipeline);
    c.peer_stage = chunk_number % layout_.pipeline;
    c.tag = transfer_tag(place, stream, chunk_number);
    c.elements = stream_elements();
    c.type = layout_.communication_type;
    c.reduction_type = layout_.communication_type;
    c.payload = ByteCount(c.elements * size_of(c.type));
    c.extent = {.exact = true, .expected = c.payload, .maximum = c.payload};
    NewInstruction made{.kind = kind, .stream = stream, .microbatch = place.microbatch, .chunk = place.chunk};
    if (kind == InstructionKind::kSend) {
      c.sent = c.payload;
      c.messages = 1;
      made.reads = {buffer};
    } else {
      made.writes = {buffer};
    }
    made.communication = c;
    return build_.add(std::move(made));
  }

  // The same number on both sides: which micro-batch crosses which boundary between chunks, and which way.
  std::uint64_t transfer_tag(const Place& place, Stream stream, int other_chunk) const {
    const bool backward = stream == Stream::kSendBackward || stream == Stream::kRecvBackward;
    const int own_chunk = chunks_[static_cast<std::size_t>(place.chunk)].number;
    const int boundaries = layout_.pipeline * layout_.chunks_per_stage;
    const int boundary = std::min(own_chunk, other_chunk);
    return (static_cast<std::uint64_t>(place.microbatch) * static_cast<std::uint64_t>(boundaries) +
            static_cast<std::uint64_t>(boundary)) *
               2 +
           (backward ? 1 : 0);
  }

  // Position of a pass of the neighbouring chunk in the schedule of the stage that holds it.
  std::size_t slot_on_previous(SlotKind kind, int microbatch, int chunk_number) const {
    const Slot wanted{kind, microbatch, chunk_number / layout_.pipeline};
    const auto found = std::find(previous_schedule_.begin(), previous_schedule_.end(), wanted);
    check(found != previous_schedule_.end(), "the previous stage schedules every pass");
    return static_cast<std::size_t>(found - previous_schedule_.begin());
  }

  // A sent gradient is held until something shows that it was received: an activation that the previous
  // stage computed after the backward that used the gradient. So no reuse of memory ever waits for a send,
  // which could wait for a receive that waits for us.
  void release_sent_gradients(InstructionId recv, std::size_t computed_at) {
    std::erase_if(sent_gradients_, [&](const SentGradient& sent) {
      if (sent.used_at < computed_at) {
        build_.hold(sent.buffer, recv);
      }
      return sent.used_at < computed_at;
    });
  }

  // --- Forward -------------------------------------------------------------------------------------------
  void forward(const Slot& slot) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(slot.chunk)];
    ChunkStash& stash = stash_[{slot.microbatch, slot.chunk}];
    Place place{slot.microbatch, slot.chunk, std::nullopt};
    BufferId residual = chunk_input(chunk, place);
    std::optional<BufferId> branch;
    for (std::int64_t layer = chunk.layers.begin; layer < chunk.layers.end; ++layer) {
      place.layer = static_cast<int>(layer);
      LayerStash kept;
      branch = forward_layer(InstructionKind::kForward, place, residual, branch, kept);
      stash.layer_input[layer] = kept.residual;
      residual = kept.mlp_residual;
      if (layout_.recompute == Recompute::kNone) {
        stash.layers[layer] = kept;
      }
    }
    place.layer = std::nullopt;
    if (chunk.has_head) {
      forward_head(place, residual, *branch, stash);
    } else {
      const BufferId out = activation(BufferContent::kResidual, stream_elements(), MemoryCause::kBoundary);
      compute(InstructionKind::kForward, segments_.residual, place, {residual, *branch}, {out});
      transfer(InstructionKind::kSend, Stream::kSendForward, place, out, chunk.number + 1);
      stash.sent = out;
    }
  }

  BufferId chunk_input(const Chunk& chunk, const Place& place) {
    if (!chunk.embeds) {
      const BufferId received = activation(BufferContent::kResidual, stream_elements(), MemoryCause::kBoundary);
      const InstructionId recv =
          transfer(InstructionKind::kRecv, Stream::kRecvForward, place, received, chunk.number - 1);
      release_sent_gradients(recv, slot_on_previous(SlotKind::kForward, place.microbatch, chunk.number - 1));
      return received;
    }
    const BufferId partial = activation(BufferContent::kResidual, full_elements());
    const Bucket& bucket = bucket_of(std::nullopt, ParameterKind::kEmbedding);
    compute(InstructionKind::kForward, segments_.embedding, place, {*tokens_, bucket.parameters_buffer}, {partial});
    return reduce_partial(partial, place, BufferContent::kResidual, MemoryCause::kActivations);
  }

  // residual += branch, normed. Returns the residual that the norm's backward will need.
  BufferId forward_norm(InstructionKind kind, const Place& place, ParameterKind weight, BufferId residual,
                        std::optional<BufferId> branch, SegmentId with_branch, BufferId& normed, BufferId& rstd) {
    normed = activation(BufferContent::kNormed, stream_elements());
    rstd = activation(BufferContent::kRstd, segments_.shape.norm_tokens);
    const BufferId weights = bucket_of(place.layer, weight).parameters_buffer;
    if (!branch) {
      compute(kind, segments_.first_norm, place, {residual, weights}, {normed, rstd});
      return residual;
    }
    const BufferId sum = activation(BufferContent::kResidual, stream_elements());
    compute(kind, with_branch, place, {residual, *branch, weights}, {sum, normed, rstd});
    return sum;
  }

  // Returns the mlp's output, to be added by whatever norm comes next.
  BufferId forward_layer(InstructionKind kind, const Place& place, BufferId residual, std::optional<BufferId> branch,
                         LayerStash& kept) {
    const SegmentShape& s = segments_.shape;
    const BufferId weights = bucket_of(place.layer, ParameterKind::kQuery).parameters_buffer;
    kept.residual = forward_norm(kind, place, ParameterKind::kAttentionNorm, residual, branch, segments_.norm,
                                 kept.attention_normed, kept.attention_rstd);
    kept.qkv = activation(BufferContent::kQkv, s.tokens * s.qkv_width());
    kept.attention = activation(BufferContent::kAttention, s.tokens * s.attention_width());
    kept.log_sum_exp = activation(BufferContent::kLogSumExp, s.tokens * s.heads);
    BufferId out = activation(BufferContent::kBranch, full_elements());
    BufferId input = gather_shares(kept.attention_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    compute(kind, segments_.attention, place, {input, weights}, {kept.qkv, kept.attention, kept.log_sum_exp, out});
    out = reduce_partial(out, place, BufferContent::kBranch, MemoryCause::kActivations);

    kept.mlp_residual = forward_norm(kind, place, ParameterKind::kMlpNorm, kept.residual, out, segments_.norm,
                                     kept.mlp_normed, kept.mlp_rstd);
    kept.gate_up = activation(BufferContent::kGateUp, 2 * s.tokens * s.feed_forward);
    kept.activated = activation(BufferContent::kActivated, s.tokens * s.feed_forward);
    out = activation(BufferContent::kBranch, full_elements());
    input = gather_shares(kept.mlp_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    compute(kind, segments_.mlp, place, {input, weights}, {kept.gate_up, kept.activated, out});
    return reduce_partial(out, place, BufferContent::kBranch, MemoryCause::kActivations);
  }

  void forward_head(const Place& place, BufferId residual, BufferId branch, ChunkStash& stash) {
    const SegmentShape& s = segments_.shape;
    stash.final_residual = forward_norm(InstructionKind::kForward, place, ParameterKind::kFinalNorm, residual, branch,
                                        segments_.final_norm, stash.final_normed, stash.final_rstd);
    const BufferId input = gather_shares(stash.final_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stash.logits = activation(BufferContent::kLogits, s.tokens * s.vocabulary, MemoryCause::kLogits);
    const BufferId statistics = build_.transient(BufferContent::kStatistics, MemoryCause::kWorkspace,
                                                 s.tensor_size * s.tokens * 3, DataType::kFp32);
    const BufferId weights = bucket_of(std::nullopt, ParameterKind::kHead).parameters_buffer;
    compute(InstructionKind::kForward, segments_.head, place, {input, *targets_, weights}, {stash.logits, statistics});
    if (layout_.tensor > 1) {
      const std::int64_t elements = s.tensor_size * s.tokens * 3;
      const auto algorithm = choose_algorithm(CommunicationKind::kAllGather, elements * 4, layout_.tensor, false);
      build_.add({.kind = InstructionKind::kGather,
                  .stream = Stream::kTensor,
                  .microbatch = place.microbatch,
                  .chunk = place.chunk,
                  .reads = {statistics},
                  .writes = {statistics},
                  .communication =
                      make_collective(CommunicationKind::kAllGather, algorithm, group_id(GroupKind::kTensor),
                                      even_boundaries(elements, layout_.tensor), key_.tensor_index, DataType::kFp32)});
    }
    compute(InstructionKind::kForward, segments_.loss, place, {stash.logits, *targets_, statistics},
            {stash.logits, sums_});
  }

  // --- Backward ------------------------------------------------------------------------------------------
  void backward(const Slot& slot) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(slot.chunk)];
    ChunkStash& stash = stash_[{slot.microbatch, slot.chunk}];
    Place place{slot.microbatch, slot.chunk, std::nullopt};
    BufferId gradient;
    if (chunk.has_head) {
      gradient = backward_head(place, stash);
      finish_tensors(slot, {ParameterKind::kFinalNorm, ParameterKind::kHead}, std::nullopt);
    } else {
      gradient = activation(BufferContent::kResidualGrad, stream_elements(), MemoryCause::kGradientFlow);
      const InstructionId received =
          transfer(InstructionKind::kRecv, Stream::kRecvBackward, place, gradient, chunk.number + 1);
      // Its gradient has come back, so the activation was received: nobody will wait for that send.
      build_.hold(*stash.sent, received);
    }
    for (std::int64_t layer = chunk.layers.end - 1; layer >= chunk.layers.begin; --layer) {
      place.layer = static_cast<int>(layer);
      if (layout_.recompute == Recompute::kFull) {
        LayerStash again;
        forward_layer(InstructionKind::kRecompute, place, stash.layer_input.at(layer), std::nullopt, again);
        stash.layers[layer] = again;
      }
      backward_layer(place, gradient, stash.layers.at(layer));
      stash.layers.erase(layer);
      finish_tensors(slot, {ParameterKind::kQuery}, place.layer);
    }
    place.layer = std::nullopt;
    if (chunk.embeds) {
      const BufferId whole = gather_shares(gradient, place, BufferContent::kResidualGrad, MemoryCause::kGradientFlow);
      weight_gradient(segments_.embedding, place, ParameterKind::kEmbedding, {*tokens_, whole});
      finish_tensors(slot, {ParameterKind::kEmbedding}, std::nullopt);
    } else {
      transfer(InstructionKind::kSend, Stream::kSendBackward, place, gradient, chunk.number - 1);
      sent_gradients_.push_back(
          {gradient, slot_on_previous(SlotKind::kBackwardInput, place.microbatch, chunk.number - 1)});
    }
    stash_.erase({slot.microbatch, slot.chunk});
  }

  BufferId backward_head(const Place& place, ChunkStash& stash) {
    const BufferId weights = bucket_of(std::nullopt, ParameterKind::kHead).parameters_buffer;
    BufferId normed_grad = activation(BufferContent::kNormedGrad, full_elements(), MemoryCause::kGradientFlow);
    compute(InstructionKind::kBackwardInput, segments_.head, place, {stash.logits, weights}, {normed_grad});
    normed_grad = reduce_partial(normed_grad, place, BufferContent::kNormedGrad, MemoryCause::kGradientFlow);
    const BufferId normed = gather_shares(stash.final_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    weight_gradient(segments_.head, place, ParameterKind::kHead, {stash.logits, normed});
    const BufferId gradient = activation(BufferContent::kResidualGrad, stream_elements(), MemoryCause::kGradientFlow);
    const BufferId norm_weights = bucket_of(std::nullopt, ParameterKind::kFinalNorm).parameters_buffer;
    compute(InstructionKind::kBackwardInput, segments_.final_norm, place,
            {normed_grad, stash.final_residual, stash.final_rstd, norm_weights}, {gradient});
    weight_gradient(segments_.final_norm, place, ParameterKind::kFinalNorm,
                    {normed_grad, stash.final_residual, stash.final_rstd});
    return gradient;
  }

  void backward_norm(const Place& place, ParameterKind weight, SegmentId segment, BufferId normed_grad,
                     BufferId residual, BufferId rstd, BufferId gradient) {
    const BufferId weights = bucket_of(place.layer, weight).parameters_buffer;
    compute(InstructionKind::kBackwardInput, segment, place, {normed_grad, residual, rstd, gradient, weights},
            {gradient});
    weight_gradient(segment, place, weight, {normed_grad, residual, rstd});
  }

  // gradient: of the residual stream behind the layer, turned in place into that before it.
  void backward_layer(const Place& place, BufferId gradient, const LayerStash& kept) {
    const SegmentShape& s = segments_.shape;
    const BufferId weights = bucket_of(place.layer, ParameterKind::kQuery).parameters_buffer;
    const auto flow = MemoryCause::kGradientFlow;

    BufferId out_grad = gather_shares(gradient, place, BufferContent::kResidualGrad, flow);
    const BufferId activated_grad = activation(BufferContent::kActivatedGrad, s.tokens * s.feed_forward, flow);
    const BufferId gate_up_grad = activation(BufferContent::kGateUpGrad, 2 * s.tokens * s.feed_forward, flow);
    BufferId normed_grad = activation(BufferContent::kNormedGrad, full_elements(), flow);
    compute(InstructionKind::kBackwardInput, segments_.mlp, place, {out_grad, kept.gate_up, weights},
            {activated_grad, gate_up_grad, normed_grad});
    normed_grad = reduce_partial(normed_grad, place, BufferContent::kNormedGrad, flow);
    BufferId normed = gather_shares(kept.mlp_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    weight_gradient(segments_.mlp, place, ParameterKind::kGate, {out_grad, kept.activated, gate_up_grad, normed});
    backward_norm(place, ParameterKind::kMlpNorm, segments_.norm, normed_grad, kept.mlp_residual, kept.mlp_rstd,
                  gradient);

    out_grad = gather_shares(gradient, place, BufferContent::kResidualGrad, flow);
    const BufferId attention_grad = activation(BufferContent::kAttentionGrad, s.tokens * s.attention_width(), flow);
    const BufferId qkv_grad = activation(BufferContent::kQkvGrad, s.tokens * s.qkv_width(), flow);
    normed_grad = activation(BufferContent::kNormedGrad, full_elements(), flow);
    compute(InstructionKind::kBackwardInput, segments_.attention, place,
            {out_grad, kept.qkv, kept.attention, kept.log_sum_exp, weights}, {attention_grad, qkv_grad, normed_grad});
    normed_grad = reduce_partial(normed_grad, place, BufferContent::kNormedGrad, flow);
    normed = gather_shares(kept.attention_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    weight_gradient(segments_.attention, place, ParameterKind::kQuery, {out_grad, kept.attention, qkv_grad, normed});
    const bool starts_chunk = first_layer_of_chunk(place);
    backward_norm(place, ParameterKind::kAttentionNorm, starts_chunk ? segments_.first_norm : segments_.norm,
                  normed_grad, kept.residual, kept.attention_rstd, gradient);
  }

  bool first_layer_of_chunk(const Place& place) const {
    return chunks_[static_cast<std::size_t>(place.chunk)].layers.begin == *place.layer;
  }

  // --- Gradients and update ------------------------------------------------------------------------------
  // Marks tensors complete after the last micro-batch, and reduces buckets that are.
  void finish_tensors(const Slot& slot, std::initializer_list<ParameterKind> kinds, std::optional<int> layer) {
    if (++finished_passes_[{slot.chunk, layer.value_or(-1), static_cast<int>(*kinds.begin())}] < layout_.accumulation) {
      return;
    }
    for (ParameterKind kind : kinds) {
      if (kind == ParameterKind::kHead && plan_.model.tied_embeddings) {
        continue;  // complete with the embedding
      }
      const Bucket& bucket = bucket_of(layer, kind);
      for (const BucketParameter& placed : bucket.parameters) {
        const bool whole_layer = layer && placed.parameter.layer == layer;
        if (whole_layer || (placed.parameter.kind == kind && placed.parameter.layer == layer)) {
          complete_[bucket.id.at()] += 1;
        }
      }
      const bool all = complete_[bucket.id.at()] == static_cast<std::int64_t>(bucket.parameters.size());
      if (all && layout_.overlap_gradient_reduce) {
        reduce_bucket(bucket);
      }
    }
  }

  void reduce_bucket(const Bucket& bucket) {
    if (layout_.data == 1) {
      return;
    }
    const auto kind = layout_.zero_stage >= 1 ? CommunicationKind::kReduceScatter : CommunicationKind::kAllReduce;
    data_collective(InstructionKind::kReduce, kind, bucket, bucket.gradients_buffer, layout_.gradient_type);
  }

  void data_collective(InstructionKind instruction, CommunicationKind kind, const Bucket& bucket, BufferId buffer,
                       DataType type) {
    // Scatter and all-reduce take the same algorithm, so that ZeRO changes no bit of a gradient.
    const auto algorithm = choose_algorithm(CommunicationKind::kReduceScatter, bucket.elements * size_of(type),
                                            layout_.data, layout_.strict_reduction);
    build_.add({.kind = instruction,
                .stream = Stream::kData,
                .bucket = bucket.id,
                .reads = {buffer},
                .writes = {buffer},
                .communication = make_collective(kind, algorithm, group_id(GroupKind::kData), bucket.boundaries,
                                                 key_.data_index, type, bucket.id)});
  }

  void reduce_sums() {
    const auto world = static_cast<int>(layout_.ranks());
    if (world == 1) {
      return;
    }
    const auto algorithm = choose_algorithm(CommunicationKind::kAllReduce, kSumsWords * 8, world, false);
    build_.add({.kind = InstructionKind::kNormReduce,
                .stream = Stream::kData,
                .reads = {sums_},
                .writes = {sums_},
                .communication = make_collective(CommunicationKind::kAllReduce, algorithm, group_id(GroupKind::kWorld),
                                                 even_boundaries(kSumsWords, world), 0, DataType::kInt64)});
  }

  void update() {
    if (!layout_.overlap_gradient_reduce) {
      for (const Bucket& bucket : role_.buckets) {
        reduce_bucket(bucket);
      }
    }
    if (layout_.sequence_parallel && layout_.tensor > 1) {
      reduce_norm_weights();
    }
    for (const Bucket& bucket : role_.buckets) {
      const std::int64_t n = owned_range(bucket).size();
      build_.add({.kind = InstructionKind::kGradientNorm,
                  .bucket = bucket.id,
                  .reads = {bucket.gradients_buffer},
                  .writes = {sums_},
                  .operations = {pass_over(ElementwiseKernel::kSumOfSquares, n, n, 0)}});
    }
    reduce_sums();
    for (const Bucket& bucket : role_.buckets) {
      optimize(bucket);
      if (layout_.zero_stage >= 1 && layout_.data > 1) {
        data_collective(InstructionKind::kGather, CommunicationKind::kAllGather, bucket, bucket.parameters_buffer,
                        layout_.parameter_type);
      }
    }
  }

  // Under sequence parallelism each tp rank has seen its share of the tokens only, so the gradients of the
  // replicated norms are partial over tp (Megatron-LM reduces them after the last micro-batch).
  void reduce_norm_weights() {
    for (const Bucket& bucket : role_.buckets) {
      std::int64_t elements = 0;
      for (const BucketParameter& placed : bucket.parameters) {
        elements += placed.tensor_replicated ? placed.elements : 0;
      }
      if (elements > 0) {
        build_.add({.kind = InstructionKind::kReduce,
                    .stream = Stream::kTensor,
                    .bucket = bucket.id,
                    .reads = {bucket.gradients_buffer},
                    .writes = {bucket.gradients_buffer},
                    .communication = tensor_collective(CommunicationKind::kAllReduce, elements)});
      }
    }
  }

  static Elementwise pass_over(ElementwiseKernel kernel, std::int64_t n, std::int64_t read, std::int64_t written) {
    return {kernel, n, ByteCount(read * 4), ByteCount(written * 4)};
  }

  void optimize(const Bucket& bucket) {
    const std::int64_t n = updated_range(bucket).size();
    const std::vector<BufferId>& state = states_[bucket.id.at()];
    const auto states = static_cast<std::int64_t>(state.size());
    std::vector<BufferId> reads{bucket.gradients_buffer, sums_, bucket.parameters_buffer};
    reads.insert(reads.end(), state.begin(), state.end());
    std::vector<BufferId> writes{bucket.parameters_buffer};
    writes.insert(writes.end(), state.begin(), state.end());
    const auto kernel =
        plan_.training.optimizer == OptimizerKind::kAdamW ? ElementwiseKernel::kAdamW : ElementwiseKernel::kSgd;
    build_.add({.kind = InstructionKind::kOptimizer,
                .bucket = bucket.id,
                .reads = std::move(reads),
                .writes = std::move(writes),
                .operations = {pass_over(kernel, n, (2 + states) * n, (1 + states) * n)}});
  }

  const Plan& plan_;
  const Layout& layout_;
  ProgramKind kind_;
  RoleKey key_;
  StageSegments segments_;
  Role& role_;
  RoleBuilder build_;
  std::vector<Chunk> chunks_;
  std::vector<Slot> previous_schedule_;
  struct SentGradient {
    BufferId buffer;
    std::size_t used_at = 0;  // position in the previous stage's schedule
  };
  std::vector<SentGradient> sent_gradients_;
  std::optional<BufferId> tokens_, targets_;
  BufferId sums_;
  std::vector<std::vector<BufferId>> states_;        // optimizer's buffers, by bucket
  std::map<std::pair<int, int>, ChunkStash> stash_;  // by micro-batch and local chunk
  std::vector<std::pair<int, int>> written_;         // tensors with a gradient so far: kind, layer
  struct Pass {
    int chunk, layer, kind;
    friend auto operator<=>(const Pass&, const Pass&) = default;
  };
  std::map<Pass, std::int64_t> finished_passes_;  // micro-batches done
  std::map<std::size_t, std::int64_t> complete_;  // tensors complete, by bucket
};

}  // namespace

StageSegments stage_segments(const Plan& plan, int tensor_index, SegmentTable& table) {
  StageSegments made;
  made.shape = segment_shape(plan.model, plan.layout, plan.training.sequence,
                             local_shape(plan.model, plan.layout.tensor, tensor_index));
  const auto intern = [&](SegmentKind kind, bool adds_branch = false, bool ends_stream = false) {
    return table.intern(make_segment(kind, made.shape, adds_branch, ends_stream));
  };
  made.embedding = intern(SegmentKind::kEmbedding);
  made.first_norm = intern(SegmentKind::kNorm);
  made.norm = intern(SegmentKind::kNorm, true);
  made.final_norm = intern(SegmentKind::kNorm, true, true);
  made.attention = intern(SegmentKind::kAttention);
  made.mlp = intern(SegmentKind::kMlp);
  made.residual = intern(SegmentKind::kResidual);
  made.head = intern(SegmentKind::kHead);
  made.loss = intern(SegmentKind::kLoss);
  return made;
}

Role generate_role(const Plan& plan, ProgramKind kind, RoleKey key, SegmentTable& table) {
  Role role;
  role.stage = key.stage;
  for (const Chunk& chunk : stage_chunks(plan.model, plan.layout, key.stage)) {
    role.chunks.push_back(chunk.number);
  }
  StageGenerator(plan, kind, key, table, role).generate();
  return role;
}

}  // namespace trainyard
