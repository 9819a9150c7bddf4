#include "core/program/stage_generator.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/layout/tensor_sharding.h"
#include "core/model/layer_shape.h"
#include "core/program/gradient_update.h"
#include "core/program/layer_generator.h"
#include "core/program/parameter_gather.h"
#include "core/program/pipeline_transfers.h"
#include "core/program/stage_context.h"
#include "core/program/wire.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {

struct ChunkStash {
  std::map<std::int64_t, LayerStash> layers;
  // Of layers that are run again: what their forward starts from.
  std::map<std::int64_t, BufferId> layer_input;
  BufferId final_residual, final_normed, final_rstd, logits;
  std::optional<BufferId> sent;
};

class StageGenerator {
 public:
  StageGenerator(const Plan& plan, RoleKey key, const std::vector<Slot>& slots, bool sampled, SegmentTable& table,
                 Role& role)
      : stage_(plan, key, table, role),
        slots_(slots),
        weights_(weights_apart(plan.layout.schedule)),
        layers_(stage_, weights_),
        gather_(stage_),
        pipeline_(stage_, sampled),
        gradients_(stage_, slots) {}

  // Where each slot's instructions begin, and what follows the last.
  std::vector<std::size_t> generate(ProgramKind kind) {
    std::vector<std::size_t> first;
    for (const Slot& slot : slots_) {
      first.push_back(stage_.role.instructions.size());
      if (slot.kind == SlotKind::kForward) {
        forward(slot);
      } else if (kind == ProgramKind::kTraining && slot.kind == SlotKind::kBackwardInput) {
        backward(slot);  // with the weight half where the schedule puts that right behind it
      } else if (kind == ProgramKind::kTraining) {
        weights_.run(slot.microbatch, slot.chunk);
      }
    }
    first.push_back(stage_.role.instructions.size());
    if (kind == ProgramKind::kTraining) {
      gradients_.update();
    } else {
      gradients_.reduce_sums();
    }
    pipeline_.finish();
    stage_.build.close_step();
    return first;
  }

 private:
  const Chunk& chunk_of(const Slot& slot) const { return stage_.chunks[static_cast<std::size_t>(slot.chunk)]; }
  std::optional<ChunkPlace> next(const Place& place) const {
    return next_place(stage_.layout.schedule, stage_.layout.pipeline, stage_.layout.chunks_per_stage,
                      {stage_.key.stage, place.chunk});
  }
  std::optional<ChunkPlace> previous(const Place& place) const {
    return previous_place(stage_.layout.schedule, stage_.layout.pipeline, stage_.layout.chunks_per_stage,
                          {stage_.key.stage, place.chunk});
  }

  bool runs_again(const Chunk& chunk, std::int64_t layer) const {
    return stage_.layout.recompute == Recompute::kFull &&
           (layer - chunk.layers.begin) % stage_.layout.recompute_every == 0;
  }

  // Learned positions that are not in the bucket of the table that they are added to; null where they are, or there are
  // none.
  const Bucket* positions_apart() const {
    if (!is_gpt2_block(stage_.plan.model)) {
      return nullptr;
    }
    const Bucket& positions = stage_.bucket_of(std::nullopt, ParameterKind::kPositionEmbedding);
    return positions.id == stage_.bucket_of(std::nullopt, ParameterKind::kEmbedding).id ? nullptr : &positions;
  }

  std::vector<const Bucket*> end_buckets(const Chunk& chunk, bool head) const {
    std::vector<const Bucket*> used;
    if (head && chunk.has_head) {
      used = {&stage_.bucket_of(std::nullopt, ParameterKind::kFinalNorm),
              &stage_.bucket_of(std::nullopt, ParameterKind::kHead)};
    } else if (!head && chunk.embeds) {
      used = {&stage_.bucket_of(std::nullopt, ParameterKind::kEmbedding)};
      if (const Bucket* positions = positions_apart()) {
        used.push_back(positions);
      }
    }
    return used;
  }

  // What a pass of the chunk gathers, in its order.
  void begin_pass(const Chunk& chunk, const Place& place, bool backward) {
    std::vector<const Bucket*> order = end_buckets(chunk, backward);
    const auto append = [&](const std::vector<const Bucket*>& unit) {
      order.insert(order.end(), unit.begin(), unit.end());
    };
    for (std::int64_t i = 0; i < chunk.layers.size(); ++i) {
      append(layers_.buckets(backward ? chunk.layers.end - 1 - i : chunk.layers.begin + i));
    }
    if (!backward) {
      append(end_buckets(chunk, true));
    }
    gather_.begin_pass(place, order);
  }

  void forward(const Slot& slot) {
    const Chunk& chunk = chunk_of(slot);
    ChunkStash& stash = stash_[{slot.microbatch, slot.chunk}];
    Place place{slot.microbatch, slot.chunk, std::nullopt};
    begin_pass(chunk, place, false);
    BufferId residual = chunk_input(chunk, place);
    std::optional<BufferId> branch;
    for (std::int64_t layer = chunk.layers.begin; layer < chunk.layers.end; ++layer) {
      place.layer = static_cast<int>(layer);
      gather_.use(layers_.buckets(layer));
      LayerStash kept;
      branch = layers_.forward(InstructionKind::kForward, place, residual, branch, kept);
      stash.layer_input[layer] = kept.residual;
      residual = kept.mlp_residual;
      if (!runs_again(chunk, layer)) {
        stash.layers[layer] = kept;
      }
    }
    place.layer = std::nullopt;
    if (chunk.has_head) {
      gather_.use(end_buckets(chunk, true));
      forward_head(place, residual, branch, stash);
    } else {
      hand_on(place, residual, branch, stash);
    }
    gather_.end_pass();
  }

  // The chunk's result to the next one, on another stage or on this.
  void hand_on(const Place& place, BufferId residual, std::optional<BufferId> branch, ChunkStash& stash) {
    BufferId out = residual;
    if (branch) {
      out = stage_.activation(BufferContent::kResidual, stage_.stream_elements(), MemoryCause::kBoundary);
      stage_.compute(InstructionKind::kForward, stage_.segments.residual, place, {residual, *branch}, {out});
    }
    const ChunkPlace to = next(place).value();
    if (to.stage == stage_.key.stage) {
      handed_[{place.microbatch, to.chunk}] = out;
      return;
    }
    pipeline_.send(TransferKind::kActivation, place, out, to);
    stash.sent = out;
  }

  BufferId chunk_input(const Chunk& chunk, const Place& place) {
    if (chunk.embeds) {
      gather_.use(end_buckets(chunk, false));
      const BufferId partial = stage_.activation(BufferContent::kResidual, stage_.full_elements());
      std::vector<BufferId> reads{*stage_.tokens, stage_.weights_of(std::nullopt, ParameterKind::kEmbedding)};
      if (positions_apart() != nullptr) {
        reads.push_back(stage_.weights_of(std::nullopt, ParameterKind::kPositionEmbedding));
      }
      stage_.compute(InstructionKind::kForward, stage_.segments.embedding, place, std::move(reads), {partial});
      return stage_.reduce_partial(partial, place, BufferContent::kResidual, MemoryCause::kActivations);
    }
    const ChunkPlace from = previous(place).value();
    if (from.stage == stage_.key.stage) {
      return handed_.at({place.microbatch, place.chunk});
    }
    const PipelineTransfers::Received received = pipeline_.receive(TransferKind::kActivation, place, from);
    pipeline_.release_sent_gradients(received.known, place, from);
    return received.buffer;
  }

  void forward_head(const Place& place, BufferId residual, std::optional<BufferId> branch, ChunkStash& stash) {
    const SegmentShape& s = stage_.segments.shape;
    stash.final_residual =
        layers_.forward_norm(InstructionKind::kForward, place, ParameterKind::kFinalNorm, residual, branch,
                             stage_.segments.final_norm, stash.final_normed, stash.final_rstd);
    const BufferId input =
        stage_.gather_shares(stash.final_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
    stash.logits = stage_.activation(BufferContent::kLogits, s.tokens * s.vocabulary, MemoryCause::kLogits);
    const BufferId statistics = stage_.build.transient(BufferContent::kStatistics, MemoryCause::kWorkspace,
                                                       s.tensor_size * s.tokens * 3, DataType::kFp32);
    const BufferId weights = stage_.weights_of(std::nullopt, ParameterKind::kHead);
    stage_.compute(InstructionKind::kForward, stage_.segments.head, place, {input, *stage_.targets, weights},
                   {stash.logits, statistics});
    if (stage_.layout.tensor > 1) {
      const std::int64_t elements = s.tensor_size * s.tokens * 3;
      const auto algorithm = choose_algorithm(CommunicationKind::kAllGather, elements * 4, stage_.layout.tensor, false);
      stage_.communicate(
          InstructionKind::kGather, Stream::kTensor, place, {statistics}, {statistics},
          make_collective(CommunicationKind::kAllGather, algorithm, group_id(GroupKind::kTensor),
                          even_boundaries(elements, stage_.layout.tensor), stage_.key.tensor_index, DataType::kFp32));
    }
    stage_.compute(InstructionKind::kForward, stage_.segments.loss, place, {stash.logits, *stage_.targets, statistics},
                   {stash.logits, stage_.sums});
  }

  void backward(const Slot& slot) {
    const Chunk& chunk = chunk_of(slot);
    ChunkStash& stash = stash_[{slot.microbatch, slot.chunk}];
    Place place{slot.microbatch, slot.chunk, std::nullopt};
    begin_pass(chunk, place, true);
    BufferId gradient;
    if (chunk.has_head) {
      gather_.use(end_buckets(chunk, true));
      gradient = backward_head(place, stash);
      finish(slot, {ParameterKind::kFinalNorm, ParameterKind::kHead}, std::nullopt);
    } else {
      gradient = gradient_input(place, stash);
    }
    for (std::int64_t layer = chunk.layers.end - 1; layer >= chunk.layers.begin; --layer) {
      place.layer = static_cast<int>(layer);
      gather_.use(layers_.buckets(layer));
      if (runs_again(chunk, layer)) {
        LayerStash again;
        layers_.forward(InstructionKind::kRecompute, place, stash.layer_input.at(layer), std::nullopt, again);
        stash.layers[layer] = again;
      }
      gradient = layers_.backward(place, gradient, stash.layers.at(layer), layer == chunk.layers.begin);
      stash.layers.erase(layer);
      finish(slot, {ParameterKind::kQuery}, place.layer);
      if (stage_.segments.layer(layer).experts) {
        finish(slot, {ParameterKind::kExpertDown}, place.layer);
      }
    }
    place.layer = std::nullopt;
    gather_.end_pass();
    if (chunk.embeds) {
      backward_embedding(slot, place, gradient);
    } else {
      hand_back(place, gradient);
    }
    stash_.erase({slot.microbatch, slot.chunk});
  }

  // Behind the weight gradients themselves, whenever those run.
  void finish(const Slot& slot, std::vector<ParameterKind> kinds, std::optional<int> layer) {
    weights_.add({slot.microbatch, slot.chunk, layer},
                 [this, slot, kinds = std::move(kinds), layer] { gradients_.finish_tensors(slot, kinds, layer); });
  }

  BufferId gradient_input(const Place& place, const ChunkStash& stash) {
    const ChunkPlace from = next(place).value();
    if (from.stage == stage_.key.stage) {
      return handed_back_.at({place.microbatch, place.chunk});
    }
    const PipelineTransfers::Received received = pipeline_.receive(TransferKind::kGradient, place, from);
    // Its gradient has come back, so the activation was received: nobody will wait for that send.
    stage_.build.hold(*stash.sent, received.known);
    return received.buffer;
  }

  void hand_back(const Place& place, BufferId gradient) {
    const ChunkPlace to = previous(place).value();
    if (to.stage == stage_.key.stage) {
      handed_back_[{place.microbatch, to.chunk}] = gradient;
      return;
    }
    pipeline_.send(TransferKind::kGradient, place, gradient, to);
    pipeline_.hold_sent_gradient(gradient, place, to);
  }

  void backward_embedding(const Slot& slot, const Place& place, BufferId gradient) {
    weights_.add(place, [this, place, gradient] {
      const BufferId whole =
          stage_.gather_shares(gradient, place, BufferContent::kResidualGrad, MemoryCause::kGradientFlow);
      stage_.weight_gradient(stage_.segments.embedding, place, ParameterKind::kEmbedding, {*stage_.tokens, whole},
                             positions_apart());
    });
    std::vector<ParameterKind> tables{ParameterKind::kEmbedding};
    if (is_gpt2_block(stage_.plan.model)) {
      tables.push_back(ParameterKind::kPositionEmbedding);
    }
    finish(slot, std::move(tables), std::nullopt);
  }

  BufferId backward_head(const Place& place, const ChunkStash& stash) {
    const BufferId weights = stage_.weights_of(std::nullopt, ParameterKind::kHead);
    BufferId normed_grad =
        stage_.activation(BufferContent::kNormedGrad, stage_.full_elements(), MemoryCause::kGradientFlow);
    stage_.compute(InstructionKind::kBackwardInput, stage_.segments.head, place, {stash.logits, weights},
                   {normed_grad});
    normed_grad = stage_.reduce_partial(normed_grad, place, BufferContent::kNormedGrad, MemoryCause::kGradientFlow);
    weights_.add(place, [this, place, logits = stash.logits, final_normed = stash.final_normed] {
      const BufferId normed =
          stage_.gather_shares(final_normed, place, BufferContent::kNormed, MemoryCause::kWorkspace);
      stage_.weight_gradient(stage_.segments.head, place, ParameterKind::kHead, {logits, normed});
    });
    const BufferId gradient =
        stage_.activation(BufferContent::kResidualGrad, stage_.stream_elements(), MemoryCause::kGradientFlow);
    stage_.compute(InstructionKind::kBackwardInput, stage_.segments.final_norm, place,
                   {normed_grad, stash.final_residual, stash.final_rstd,
                    stage_.weights_of(std::nullopt, ParameterKind::kFinalNorm)},
                   {gradient});
    weights_.add(place, [this, place, normed_grad, residual = stash.final_residual, rstd = stash.final_rstd] {
      stage_.weight_gradient(stage_.segments.final_norm, place, ParameterKind::kFinalNorm,
                             {normed_grad, residual, rstd});
    });
    return gradient;
  }

  StageContext stage_;
  const std::vector<Slot>& slots_;
  WeightPasses weights_;
  LayerGenerator layers_;
  ParameterGather gather_;
  PipelineTransfers pipeline_;
  GradientUpdate gradients_;
  std::map<std::pair<int, int>, ChunkStash> stash_;  // by micro-batch and local chunk
  // From a chunk to the next or the previous one on the same stage, by micro-batch and the chunk that takes it.
  std::map<std::pair<int, int>, BufferId> handed_;
  std::map<std::pair<int, int>, BufferId> handed_back_;
};

LayerSegments layer_segments(const Plan& plan, const LayerShape& layer, const SegmentShape& shape, int tensor_index,
                             SegmentTable& table) {
  LayerSegments made;
  made.sizes = layer_sizes(plan.model, layer, plan.layout, tensor_index, shape.norm_tokens);
  const auto intern = [&](SegmentKind kind, bool first_block = true) {
    return table.intern(make_layer_segment(kind, shape, made.sizes, first_block));
  };
  if (plan.layout.context == 1) {
    made.attention = intern(SegmentKind::kAttention);
  } else {
    made.query_key_value = intern(SegmentKind::kQueryKeyValue);
    made.own_scores = intern(SegmentKind::kScores);
    made.other_scores = intern(SegmentKind::kScores, false);
    made.projection = intern(SegmentKind::kProjection);
  }
  if (made.sizes.feed_forward) {
    made.mlp = intern(SegmentKind::kMlp);
  }
  if (made.sizes.experts) {
    made.router = intern(SegmentKind::kRouter);
    made.experts = intern(SegmentKind::kExperts);
    made.combine = intern(SegmentKind::kCombine);
  }
  return made;
}

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
  const ModelShape layers = model_shape(plan.model);
  for (const LayerShape& layer : layers.kinds) {
    made.kinds.push_back(layer_segments(plan, layer, made.shape, tensor_index, table));
  }
  made.kind_of_layer = layers.kind_of_layer;
  made.residual = intern(SegmentKind::kResidual);
  made.head = intern(SegmentKind::kHead);
  made.loss = intern(SegmentKind::kLoss);
  return made;
}

namespace {

Role empty_role(const Plan& plan, int stage) {
  Role role;
  role.stage = stage;
  for (const Chunk& chunk : stage_chunks(plan.model, plan.layout, stage)) {
    role.chunks.push_back(chunk.number);
  }
  return role;
}

}  // namespace

Role generate_role(const Plan& plan, ProgramKind kind, RoleKey key, SegmentTable& table) {
  const Layout& layout = plan.layout;
  Role role = empty_role(plan, key.stage);
  const std::vector<Slot> slots = stage_schedule(layout.schedule, layout.pipeline, key.stage, layout.chunks_per_stage,
                                                 static_cast<int>(layout.accumulation));
  StageGenerator(plan, key, slots, false, table, role).generate(kind);
  return role;
}

SampledRole sample_role(const Plan& plan, RoleKey key, const std::vector<Slot>& slots, SegmentTable& table) {
  SampledRole sampled{empty_role(plan, key.stage), {}};
  sampled.first = StageGenerator(plan, key, slots, true, table, sampled.role).generate(ProgramKind::kTraining);
  return sampled;
}

}  // namespace trainyard
