#include "core/program/stage_generator.h"

#include <map>
#include <utility>

#include "core/layout/tensor_sharding.h"
#include "core/program/gradient_update.h"
#include "core/program/pipeline_transfers.h"
#include "core/program/stage_context.h"
#include "core/program/wire.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {

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
  StageGenerator(const Plan& plan, RoleKey key, SegmentTable& table, Role& role)
      : stage_(plan, key, table, role), pipeline_(stage_), gradients_(stage_) {}

  void generate(ProgramKind kind) {
    const Layout& layout = stage_.layout;
    for (const Slot& slot : stage_schedule(layout.schedule, layout.pipeline, stage_.key.stage, layout.chunks_per_stage,
                                           static_cast<int>(layout.accumulation))) {
      if (slot.kind == SlotKind::kForward) {
        forward(slot);
      } else if (slot.kind == SlotKind::kBackwardInput && kind == ProgramKind::kTraining) {
        backward(slot);  // with the weight half, which the schedule puts right behind it
      }
    }
    if (kind == ProgramKind::kTraining) {
      gradients_.update();
    } else {
      gradients_.reduce_sums();
    }
    pipeline_.finish();
    stage_.build.close_step();
  }

 private:
  void forward(const Slot& slot) {
    const Chunk& chunk = stage_.chunks[static_cast<std::size_t>(slot.chunk)];
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
      if (stage_.layout.recompute == Recompute::kNone) {
        stash.layers[layer] = kept;
      }
    }
    place.layer = std::nullopt;
    if (chunk.has_head) {
      forward_head(place, residual, *branch, stash);
    } else {
      const BufferId out =
          stage_.activation(BufferContent::kResidual, stage_.stream_elements(), MemoryCause::kBoundary);
      stage_.compute(InstructionKind::kForward, stage_.segments.residual, place, {residual, *branch}, {out});
      pipeline_.transfer(InstructionKind::kSend, Stream::kSendForward, place, out, chunk.number + 1);
      stash.sent = out;
    }
  }

  BufferId chunk_input(const Chunk& chunk, const Place& place) {
    if (!chunk.embeds) {
      const BufferId received =
          stage_.activation(BufferContent::kResidual, stage_.stream_elements(), MemoryCause::kBoundary);
      const InstructionId recv =
          pipeline_.transfer(InstructionKind::kRecv, Stream::kRecvForward, place, received, chunk.number - 1);
      pipeline_.release_sent_gradients(recv, place, chunk.number - 1);
      return received;
    }
    const BufferId partial = stage_.activation(BufferContent::kResidual, stage_.full_elements());
    const Bucket& bucket = stage_.bucket_of(std::nullopt, ParameterKind::kEmbedding);
    stage_.compute(InstructionKind::kForward, stage_.segments.embedding, place,
                   {*stage_.tokens, bucket.parameters_buffer}, {partial});
    return stage_.reduce_partial(partial, place, BufferContent::kResidual, MemoryCause::kActivations);
  }

  // residual += branch, normed. Returns the residual that the norm's backward will need.
  BufferId forward_norm(InstructionKind kind, const Place& place, ParameterKind weight, BufferId residual,
                        std::optional<BufferId> branch, SegmentId with_branch, BufferId& normed, BufferId& rstd) {
    normed = stage_.activation(BufferContent::kNormed, stage_.stream_elements());
    rstd = stage_.activation(BufferContent::kRstd, stage_.segments.shape.norm_tokens);
    const BufferId weights = stage_.bucket_of(place.layer, weight).parameters_buffer;
    if (!branch) {
      stage_.compute(kind, stage_.segments.first_norm, place, {residual, weights}, {normed, rstd});
      return residual;
    }
    const BufferId sum = stage_.activation(BufferContent::kResidual, stage_.stream_elements());
    stage_.compute(kind, with_branch, place, {residual, *branch, weights}, {sum, normed, rstd});
    return sum;
  }

  // Returns the mlp's output, to be added by whatever norm comes next.
  BufferId forward_layer(InstructionKind kind, const Place& place, BufferId residual, std::optional<BufferId> branch,
                         LayerStash& kept) {
    const SegmentShape& s = stage_.segments.shape;
    const BufferId weights = stage_.bucket_of(place.layer, ParameterKind::kQuery).parameters_buffer;
    kept.residual = forward_norm(kind, place, ParameterKind::kAttentionNorm, residual, branch, stage_.segments.norm,
                                 kept.attention_normed, kept.attention_rstd);
    kept.qkv = stage_.activation(BufferContent::kQkv, s.tokens * s.qkv_width());
    kept.attention = stage_.activation(BufferContent::kAttention, s.tokens * s.attention_width());
    kept.log_sum_exp = stage_.activation(BufferContent::kLogSumExp, s.tokens * s.heads);
    BufferId out = stage_.activation(BufferContent::kBranch, stage_.full_elements());
    BufferId input =
        stage_.gather_shares(kept.attention_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.compute(kind, stage_.segments.attention, place, {input, weights},
                   {kept.qkv, kept.attention, kept.log_sum_exp, out});
    out = stage_.reduce_partial(out, place, BufferContent::kBranch, MemoryCause::kActivations);

    kept.mlp_residual = forward_norm(kind, place, ParameterKind::kMlpNorm, kept.residual, out, stage_.segments.norm,
                                     kept.mlp_normed, kept.mlp_rstd);
    kept.gate_up = stage_.activation(BufferContent::kGateUp, 2 * s.tokens * s.feed_forward);
    kept.activated = stage_.activation(BufferContent::kActivated, s.tokens * s.feed_forward);
    out = stage_.activation(BufferContent::kBranch, stage_.full_elements());
    input = stage_.gather_shares(kept.mlp_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.compute(kind, stage_.segments.mlp, place, {input, weights}, {kept.gate_up, kept.activated, out});
    return stage_.reduce_partial(out, place, BufferContent::kBranch, MemoryCause::kActivations);
  }

  void forward_head(const Place& place, BufferId residual, BufferId branch, ChunkStash& stash) {
    const SegmentShape& s = stage_.segments.shape;
    stash.final_residual = forward_norm(InstructionKind::kForward, place, ParameterKind::kFinalNorm, residual, branch,
                                        stage_.segments.final_norm, stash.final_normed, stash.final_rstd);
    const BufferId input =
        stage_.gather_shares(stash.final_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stash.logits = stage_.activation(BufferContent::kLogits, s.tokens * s.vocabulary, MemoryCause::kLogits);
    const BufferId statistics = stage_.build.transient(BufferContent::kStatistics, MemoryCause::kWorkspace,
                                                       s.tensor_size * s.tokens * 3, DataType::kFp32);
    const BufferId weights = stage_.bucket_of(std::nullopt, ParameterKind::kHead).parameters_buffer;
    stage_.compute(InstructionKind::kForward, stage_.segments.head, place, {input, *stage_.targets, weights},
                   {stash.logits, statistics});
    if (stage_.layout.tensor > 1) {
      const std::int64_t elements = s.tensor_size * s.tokens * 3;
      const auto algorithm = choose_algorithm(CommunicationKind::kAllGather, elements * 4, stage_.layout.tensor, false);
      stage_.build.add(
          {.kind = InstructionKind::kGather,
           .stream = Stream::kTensor,
           .microbatch = place.microbatch,
           .chunk = place.chunk,
           .reads = {statistics},
           .writes = {statistics},
           .communication = make_collective(CommunicationKind::kAllGather, algorithm, group_id(GroupKind::kTensor),
                                            even_boundaries(elements, stage_.layout.tensor), stage_.key.tensor_index,
                                            DataType::kFp32)});
    }
    stage_.compute(InstructionKind::kForward, stage_.segments.loss, place, {stash.logits, *stage_.targets, statistics},
                   {stash.logits, stage_.sums});
  }

  void backward(const Slot& slot) {
    const Chunk& chunk = stage_.chunks[static_cast<std::size_t>(slot.chunk)];
    ChunkStash& stash = stash_[{slot.microbatch, slot.chunk}];
    Place place{slot.microbatch, slot.chunk, std::nullopt};
    BufferId gradient;
    if (chunk.has_head) {
      gradient = backward_head(place, stash);
      gradients_.finish_tensors(slot, {ParameterKind::kFinalNorm, ParameterKind::kHead}, std::nullopt);
    } else {
      gradient = stage_.activation(BufferContent::kResidualGrad, stage_.stream_elements(), MemoryCause::kGradientFlow);
      const InstructionId received =
          pipeline_.transfer(InstructionKind::kRecv, Stream::kRecvBackward, place, gradient, chunk.number + 1);
      // Its gradient has come back, so the activation was received: nobody will wait for that send.
      stage_.build.hold(*stash.sent, received);
    }
    for (std::int64_t layer = chunk.layers.end - 1; layer >= chunk.layers.begin; --layer) {
      place.layer = static_cast<int>(layer);
      if (stage_.layout.recompute == Recompute::kFull) {
        LayerStash again;
        forward_layer(InstructionKind::kRecompute, place, stash.layer_input.at(layer), std::nullopt, again);
        stash.layers[layer] = again;
      }
      backward_layer(place, gradient, stash.layers.at(layer));
      stash.layers.erase(layer);
      gradients_.finish_tensors(slot, {ParameterKind::kQuery}, place.layer);
    }
    place.layer = std::nullopt;
    if (chunk.embeds) {
      const BufferId whole =
          stage_.gather_shares(gradient, place, BufferContent::kResidualGrad, MemoryCause::kGradientFlow);
      stage_.weight_gradient(stage_.segments.embedding, place, ParameterKind::kEmbedding, {*stage_.tokens, whole});
      gradients_.finish_tensors(slot, {ParameterKind::kEmbedding}, std::nullopt);
    } else {
      pipeline_.transfer(InstructionKind::kSend, Stream::kSendBackward, place, gradient, chunk.number - 1);
      pipeline_.hold_sent_gradient(gradient, place, chunk.number - 1);
    }
    stash_.erase({slot.microbatch, slot.chunk});
  }

  BufferId backward_head(const Place& place, ChunkStash& stash) {
    const BufferId weights = stage_.bucket_of(std::nullopt, ParameterKind::kHead).parameters_buffer;
    BufferId normed_grad =
        stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), MemoryCause::kGradientFlow);
    stage_.compute(InstructionKind::kBackwardInput, stage_.segments.head, place, {stash.logits, weights},
                   {normed_grad});
    normed_grad = stage_.reduce_partial(normed_grad, place, BufferContent::kNormedGrad, MemoryCause::kGradientFlow);
    const BufferId normed =
        stage_.gather_shares(stash.final_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(stage_.segments.head, place, ParameterKind::kHead, {stash.logits, normed});
    const BufferId gradient =
        stage_.activation(BufferContent::kResidualGrad, stage_.stream_elements(), MemoryCause::kGradientFlow);
    const BufferId norm_weights = stage_.bucket_of(std::nullopt, ParameterKind::kFinalNorm).parameters_buffer;
    stage_.compute(InstructionKind::kBackwardInput, stage_.segments.final_norm, place,
                   {normed_grad, stash.final_residual, stash.final_rstd, norm_weights}, {gradient});
    stage_.weight_gradient(stage_.segments.final_norm, place, ParameterKind::kFinalNorm,
                           {normed_grad, stash.final_residual, stash.final_rstd});
    return gradient;
  }

  void backward_norm(const Place& place, ParameterKind weight, SegmentId segment, BufferId normed_grad,
                     BufferId residual, BufferId rstd, BufferId gradient) {
    const BufferId weights = stage_.bucket_of(place.layer, weight).parameters_buffer;
    stage_.compute(InstructionKind::kBackwardInput, segment, place, {normed_grad, residual, rstd, gradient, weights},
                   {gradient});
    stage_.weight_gradient(segment, place, weight, {normed_grad, residual, rstd});
  }

  // gradient: of the residual stream behind the layer, turned in place into that before it.
  void backward_layer(const Place& place, BufferId gradient, const LayerStash& kept) {
    const SegmentShape& s = stage_.segments.shape;
    const BufferId weights = stage_.bucket_of(place.layer, ParameterKind::kQuery).parameters_buffer;
    const auto flow = MemoryCause::kGradientFlow;

    BufferId out_grad = stage_.gather_shares(gradient, place, BufferContent::kResidualGrad, flow);
    const BufferId activated_grad = stage_.activation(BufferContent::kActivatedGrad, s.tokens * s.feed_forward, flow);
    const BufferId gate_up_grad = stage_.activation(BufferContent::kGateUpGrad, 2 * s.tokens * s.feed_forward, flow);
    BufferId normed_grad = stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), flow);
    stage_.compute(InstructionKind::kBackwardInput, stage_.segments.mlp, place, {out_grad, kept.gate_up, weights},
                   {activated_grad, gate_up_grad, normed_grad});
    normed_grad = stage_.reduce_partial(normed_grad, place, BufferContent::kNormedGrad, flow);
    BufferId normed = stage_.gather_shares(kept.mlp_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(stage_.segments.mlp, place, ParameterKind::kGate,
                           {out_grad, kept.activated, gate_up_grad, normed});
    backward_norm(place, ParameterKind::kMlpNorm, stage_.segments.norm, normed_grad, kept.mlp_residual, kept.mlp_rstd,
                  gradient);

    out_grad = stage_.gather_shares(gradient, place, BufferContent::kResidualGrad, flow);
    const BufferId attention_grad =
        stage_.activation(BufferContent::kAttentionGrad, s.tokens * s.attention_width(), flow);
    const BufferId qkv_grad = stage_.activation(BufferContent::kQkvGrad, s.tokens * s.qkv_width(), flow);
    normed_grad = stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), flow);
    stage_.compute(InstructionKind::kBackwardInput, stage_.segments.attention, place,
                   {out_grad, kept.qkv, kept.attention, kept.log_sum_exp, weights},
                   {attention_grad, qkv_grad, normed_grad});
    normed_grad = stage_.reduce_partial(normed_grad, place, BufferContent::kNormedGrad, flow);
    normed = stage_.gather_shares(kept.attention_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stage_.weight_gradient(stage_.segments.attention, place, ParameterKind::kQuery,
                           {out_grad, kept.attention, qkv_grad, normed});
    const bool starts_chunk = first_layer_of_chunk(place);
    backward_norm(place, ParameterKind::kAttentionNorm,
                  starts_chunk ? stage_.segments.first_norm : stage_.segments.norm, normed_grad, kept.residual,
                  kept.attention_rstd, gradient);
  }

  bool first_layer_of_chunk(const Place& place) const {
    return stage_.chunks[static_cast<std::size_t>(place.chunk)].layers.begin == *place.layer;
  }

  StageContext stage_;
  PipelineTransfers pipeline_;
  GradientUpdate gradients_;
  std::map<std::pair<int, int>, ChunkStash> stash_;  // by micro-batch and local chunk
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
  StageGenerator(plan, key, table, role).generate(kind);
  return role;
}

}  // namespace trainyard
