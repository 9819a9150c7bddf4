#include "core/program/stage_generator.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/program/gradient_update.h"
#include "core/program/head_generator.h"
#include "core/program/layer_generator.h"
#include "core/program/multi_token_generator.h"
#include "core/program/parameter_gather.h"
#include "core/program/pipeline_transfers.h"
#include "core/program/stage_context.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {

struct ChunkStash {
  std::map<std::int64_t, LayerStash> layers;
  // Of layers that are run again: what their forward starts from.
  std::map<std::int64_t, BufferId> layer_input;
  HeadStash head;
  std::vector<BlockStash> blocks;  // of multi-token prediction
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
        heads_(stage_, weights_, layers_),
        blocks_(stage_, weights_),
        gather_(stage_),
        pipeline_(stage_, sampled),
        gradients_(stage_, slots) {}

  // Where each slot's instructions begin, and what follows the last.
  std::vector<std::size_t> generate(ProgramKind kind) {
    training_ = kind == ProgramKind::kTraining;
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

  std::vector<const Bucket*> table_buckets() const {
    std::vector<const Bucket*> used{&stage_.bucket_of(std::nullopt, ParameterKind::kEmbedding)};
    if (const Bucket* positions = positions_apart()) {
      used.push_back(positions);
    }
    return used;
  }
  std::vector<const Bucket*> head_buckets() const {
    return {&stage_.bucket_of(std::nullopt, ParameterKind::kFinalNorm),
            &stage_.bucket_of(std::nullopt, ParameterKind::kHead)};
  }
  // A multi-token block's own norm comes before the head.
  std::vector<const Bucket*> head_buckets(std::int64_t block) const {
    std::vector<const Bucket*> used = layers_.buckets(block_layer(block));
    const std::vector<const Bucket*> head = head_buckets();
    used.insert(used.end(), head.begin(), head.end());
    return used;
  }
  // Multi-token blocks are there to train: evaluation is of the model itself.
  std::int64_t blocks_of(const Chunk& chunk) const {
    return training_ && chunk.has_head ? stage_.plan.model.multi_token_layers : 0;
  }
  std::int64_t block_layer(std::int64_t block) const { return stage_.plan.model.layers + block; }

  // What a pass of the chunk gathers, in its order.
  std::vector<const Bucket*> pass_order(const Chunk& chunk, bool backward) const {
    std::vector<const Bucket*> order;
    const auto append = [&](const std::vector<const Bucket*>& unit) {
      order.insert(order.end(), unit.begin(), unit.end());
    };
    if (!backward && chunk.embeds) {
      append(table_buckets());
    }
    for (std::int64_t b = blocks_of(chunk) - 1; backward && b >= 0; --b) {
      append(head_buckets());
      append(layers_.buckets(block_layer(b)));
    }
    if (backward && chunk.has_head) {
      append(head_buckets());
    }
    for (std::int64_t i = 0; i < chunk.layers.size(); ++i) {
      append(layers_.buckets(backward ? chunk.layers.end - 1 - i : chunk.layers.begin + i));
    }
    if (!backward && chunk.has_head) {
      append(head_buckets());
    }
    for (std::int64_t b = 0; !backward && b < blocks_of(chunk); ++b) {
      append(table_buckets());
      append(head_buckets(b));
    }
    return order;
  }

  void forward(const Slot& slot) {
    const Chunk& chunk = chunk_of(slot);
    ChunkStash& stash = stash_[{slot.microbatch, slot.chunk}];
    Place place{slot.microbatch, slot.chunk, std::nullopt};
    gather_.begin_pass(place, pass_order(chunk, false));
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
      gather_.use(head_buckets());
      heads_.forward(place, residual, branch, blocks_of(chunk) > 0, stash.head);
      forward_blocks(chunk, place, stash);
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

  BufferId embed(const Place& place, BufferId tokens) {
    const BufferId partial = stage_.activation(BufferContent::kResidual, stage_.full_elements());
    std::vector<BufferId> reads{tokens, stage_.weights_of(std::nullopt, ParameterKind::kEmbedding)};
    if (positions_apart() != nullptr) {
      reads.push_back(stage_.weights_of(std::nullopt, ParameterKind::kPositionEmbedding));
    }
    stage_.compute(InstructionKind::kForward, stage_.segments.embedding, place, std::move(reads), {partial});
    return stage_.reduce_partial(partial, place, BufferContent::kResidual, MemoryCause::kActivations);
  }

  // Multi-token blocks, each from the hidden state of the one before.
  void forward_blocks(const Chunk& chunk, const Place& place, ChunkStash& stash) {
    BufferId hidden = stash.head.residual;
    for (std::int64_t block = 0; block < blocks_of(chunk); ++block) {
      BlockStash& kept = stash.blocks.emplace_back();
      const Place own{place.microbatch, place.chunk, static_cast<int>(block_layer(block))};
      gather_.use(table_buckets());
      const BufferId embedded = embed(place, *stage_.targets);
      gather_.use(layers_.buckets(block_layer(block)));
      const BufferId merged = blocks_.forward(own, hidden, embedded, kept);
      const BufferId branch = layers_.forward(InstructionKind::kForward, own, merged, std::nullopt, kept.layer);
      gather_.use(head_buckets(block));
      heads_.forward(own, kept.layer.mlp_residual, branch, block + 1 < blocks_of(chunk), kept.head);
      hidden = kept.head.residual;
    }
  }

  BufferId chunk_input(const Chunk& chunk, const Place& place) {
    if (chunk.embeds) {
      gather_.use(table_buckets());
      return embed(place, *stage_.tokens);
    }
    const ChunkPlace from = previous(place).value();
    if (from.stage == stage_.key.stage) {
      return handed_.at({place.microbatch, place.chunk});
    }
    const PipelineTransfers::Received received = pipeline_.receive(TransferKind::kActivation, place, from);
    pipeline_.release_sent_gradients(received.known, place, from);
    return received.buffer;
  }

  void backward(const Slot& slot) {
    const Chunk& chunk = chunk_of(slot);
    ChunkStash& stash = stash_[{slot.microbatch, slot.chunk}];
    Place place{slot.microbatch, slot.chunk, std::nullopt};
    gather_.begin_pass(place, pass_order(chunk, true));
    BufferId gradient;
    if (chunk.has_head) {
      const std::optional<BufferId> behind = backward_blocks(chunk, slot, stash);
      gather_.use(head_buckets());
      gradient = heads_.backward(place, behind, stash.head);
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

  // Returns the gradient of the hidden state that the first block took on.
  std::optional<BufferId> backward_blocks(const Chunk& chunk, const Slot& slot, ChunkStash& stash) {
    std::optional<BufferId> behind;
    for (std::int64_t block = blocks_of(chunk) - 1; block >= 0; --block) {
      BlockStash& kept = stash.blocks[static_cast<std::size_t>(block)];
      const auto layer = static_cast<int>(block_layer(block));
      const Place own{slot.microbatch, slot.chunk, layer};
      gather_.use(head_buckets(block));
      BufferId gradient = heads_.backward(own, behind, kept.head);
      gather_.use(layers_.buckets(layer));
      if (stage_.layout.recompute == Recompute::kFull) {
        LayerStash again;
        layers_.forward(InstructionKind::kRecompute, own, kept.merged, std::nullopt, again);
        kept.layer = again;
      }
      gradient = layers_.backward(own, gradient, kept.layer, true);
      const MultiTokenGenerator::Gradients merged = blocks_.backward(own, gradient, kept);
      table_gradient({slot.microbatch, slot.chunk, std::nullopt}, *stage_.targets, merged.embedded);
      behind = merged.hidden;
      finish(slot, {ParameterKind::kQuery}, layer);
      if (stage_.segments.layer(layer).experts) {
        finish(slot, {ParameterKind::kExpertDown}, layer);
      }
    }
    // A copy of the table, or one whose other end is another chunk. Else it is complete with the other end; of
    // a tied one, with the head.
    const bool with_others =
        stage_.plan.model.tied_embeddings || (stage_.has_both_ends() && !stage_.table_of_two_chunks());
    if (behind && !with_others) {
      finish(slot, {ParameterKind::kEmbedding}, std::nullopt);
    }
    return behind;
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

  void table_gradient(const Place& place, BufferId tokens, BufferId gradient) {
    weights_.add(place, [this, place, tokens, gradient] {
      const BufferId whole =
          stage_.gather_shares(gradient, place, BufferContent::kResidualGrad, MemoryCause::kGradientFlow);
      stage_.weight_gradient(stage_.segments.embedding, place, ParameterKind::kEmbedding, {tokens, whole},
                             positions_apart());
    });
  }

  void backward_embedding(const Slot& slot, const Place& place, BufferId gradient) {
    table_gradient(place, *stage_.tokens, gradient);
    std::vector<ParameterKind> tables{ParameterKind::kEmbedding};
    if (is_gpt2_block(stage_.plan.model)) {
      tables.push_back(ParameterKind::kPositionEmbedding);
    }
    finish(slot, std::move(tables), std::nullopt);
  }

  StageContext stage_;
  const std::vector<Slot>& slots_;
  bool training_ = true;
  WeightPasses weights_;
  LayerGenerator layers_;
  HeadGenerator heads_;
  MultiTokenGenerator blocks_;
  ParameterGather gather_;
  PipelineTransfers pipeline_;
  GradientUpdate gradients_;
  std::map<std::pair<int, int>, ChunkStash> stash_;  // by micro-batch and local chunk
  // From a chunk to the next or the previous one on the same stage, by micro-batch and the chunk that takes it.
  std::map<std::pair<int, int>, BufferId> handed_;
  std::map<std::pair<int, int>, BufferId> handed_back_;
};

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
