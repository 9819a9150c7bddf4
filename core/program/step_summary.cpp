#include "core/program/step_summary.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/program/norm_sum.h"
#include "core/program/stage_generator.h"
#include "core/program/wire.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {

int in_flight(const Layout& layout, int stage) {
  return peak_in_flight(stage_schedule(layout.schedule, layout.pipeline, stage, layout.chunks_per_stage,
                                       static_cast<int>(layout.accumulation)));
}

// Counts one stage, for the ranks with tensor and data index 0.
class StageCounter {
 public:
  StageCounter(const Plan& plan, int stage, SegmentTable& table)
      : plan_(plan),
        layout_(plan.layout),
        m_(plan.layout.accumulation),
        segments_(stage_segments(plan, 0, table)),
        layer_(segments_.kinds.front()),
        chunks_(stage_chunks(plan.model, plan.layout, stage)),
        buckets_(stage_buckets(plan.model, plan.layout, chunks_, 0)) {
    summary_.stage = stage;
  }

  StageSummary count() {
    for (const Chunk& chunk : chunks_) {
      count_chunk(chunk);
    }
    count_update();
    count_memory();
    return std::move(summary_);
  }
  // Activations that one micro-batch keeps on one chunk of the stage; after count().
  ByteCount bytes_per_chunk() const { return bytes_per_chunk_; }

 private:
  const SegmentShape& shape() const { return segments_.shape; }
  std::int64_t whole() const { return shape().tokens * shape().hidden; }
  std::int64_t stream() const { return shape().norm_tokens * shape().hidden; }
  bool two_tables() const { return plan_.model.tied_embeddings && layout_.pipeline > 1; }
  bool shares_tokens() const { return layout_.sequence_parallel && layout_.tensor > 1; }

  void segment(SegmentId id, InstructionKind kind, std::int64_t times, bool accumulate = false) {
    if (times > 0) {
      summary_.segments.push_back({.segment = id, .kind = kind, .accumulate = accumulate, .count = times});
    }
  }
  void forward(SegmentId id, std::int64_t per_microbatch) {
    segment(id, InstructionKind::kForward, per_microbatch * m_);
  }
  void backward_input(SegmentId id, std::int64_t n) { segment(id, InstructionKind::kBackwardInput, n * m_); }
  // `fresh`: tensors that nobody has written when the first micro-batch gets to them.
  void backward_weight(SegmentId id, std::int64_t n, std::int64_t fresh) {
    segment(id, InstructionKind::kBackwardWeight, fresh, false);
    segment(id, InstructionKind::kBackwardWeight, n * m_ - fresh, true);
  }

  void tensor(CommunicationKind kind, std::int64_t elements, std::int64_t times, Exposure exposure) {
    if (layout_.tensor == 1 || times == 0) {
      return;
    }
    const DataType type = layout_.communication_type;
    const auto algorithm = choose_algorithm(kind, elements * size_of(type), layout_.tensor, false);
    summary_.communications.push_back(
        {.communication = make_collective(kind, algorithm, GroupId(static_cast<int>(GroupKind::kTensor)),
                                          even_boundaries(elements, layout_.tensor), 0, type),
         .exposure = exposure,
         .group = GroupKind::kTensor,
         .group_size = layout_.tensor,
         .count = times});
  }
  void reduce_partials(std::int64_t times, Exposure exposure) {
    tensor(shares_tokens() ? CommunicationKind::kReduceScatter : CommunicationKind::kAllReduce, whole(), times,
           exposure);
  }
  void gather_shares(std::int64_t times, Exposure exposure) {
    if (shares_tokens()) {
      tensor(CommunicationKind::kAllGather, whole(), times, exposure);
    }
  }

  void transfers(CommunicationKind kind, std::int64_t times) {
    if (times == 0) {
      return;
    }
    Communication c;
    c.kind = kind;
    c.algorithm = CollectiveAlgorithm::kDirect;
    c.group = GroupId(static_cast<int>(GroupKind::kPipeline));
    c.elements = stream();
    c.type = layout_.communication_type;
    c.payload = ByteCount(c.elements * size_of(c.type));
    c.extent = {.exact = true, .expected = c.payload, .maximum = c.payload};
    if (kind == CommunicationKind::kSend) {
      c.sent = c.payload;
      c.messages = 1;
    }
    summary_.communications.push_back({.communication = c,
                                       .exposure = Exposure::kPipeline,
                                       .group = GroupKind::kPipeline,
                                       .group_size = layout_.pipeline,
                                       .count = times});
  }

  void count_chunk(const Chunk& chunk) {
    const std::int64_t layers = chunk.layers.size();
    forward(segments_.embedding, chunk.embeds ? 1 : 0);
    forward(segments_.first_norm, 1);
    forward(segments_.norm, 2 * layers - 1);
    forward(layer_.attention.value(), layers);
    forward(layer_.mlp.value(), layers);
    reduce_partials((2 * layers + (chunk.embeds ? 1 : 0)) * m_, Exposure::kExposed);
    gather_shares((2 * layers + (chunk.has_head ? 1 : 0)) * m_, Exposure::kExposed);
    if (chunk.has_head) {
      count_head();
    } else {
      forward(segments_.residual, 1);
      transfers(CommunicationKind::kSend, m_);
      transfers(CommunicationKind::kRecv, m_);
    }
    if (layout_.recompute == Recompute::kFull) {
      count_recompute(layers);
    }
    count_backward(chunk);
  }

  void count_head() {
    forward(segments_.final_norm, 1);
    forward(segments_.head, 1);
    forward(segments_.loss, 1);
    tensor(CommunicationKind::kAllGather, shape().tensor_size * shape().tokens * 3, m_, Exposure::kExposed);
    backward_input(segments_.head, 1);
    backward_input(segments_.final_norm, 1);
    backward_weight(segments_.head, 1, 1);
    backward_weight(segments_.final_norm, 1, 1);
    reduce_partials(m_, Exposure::kWithWeightGradient);
    gather_shares(m_, Exposure::kExposed);
  }

  void count_recompute(std::int64_t layers) {
    const auto again = [&](SegmentId id) { segment(id, InstructionKind::kRecompute, layers * m_); };
    again(segments_.first_norm);
    again(layer_.attention.value());
    again(segments_.norm);
    again(layer_.mlp.value());
    reduce_partials(2 * layers * m_, Exposure::kExposed);
    gather_shares(2 * layers * m_, Exposure::kExposed);
  }

  void count_backward(const Chunk& chunk) {
    const std::int64_t layers = chunk.layers.size();
    backward_input(layer_.mlp.value(), layers);
    backward_weight(layer_.mlp.value(), layers, layers);
    backward_input(layer_.attention.value(), layers);
    backward_weight(layer_.attention.value(), layers, layers);
    backward_input(segments_.norm, 2 * layers - 1);
    backward_weight(segments_.norm, 2 * layers - 1, 2 * layers - 1);
    backward_input(segments_.first_norm, 1);
    backward_weight(segments_.first_norm, 1, 1);
    reduce_partials(2 * layers * m_, Exposure::kWithWeightGradient);
    gather_shares(4 * layers * m_, Exposure::kExposed);
    if (chunk.embeds) {
      backward_weight(segments_.embedding, 1, plan_.model.tied_embeddings && !two_tables() ? 0 : 1);
      gather_shares(m_, Exposure::kExposed);
    } else {
      transfers(CommunicationKind::kSend, m_);
      transfers(CommunicationKind::kRecv, m_);
    }
  }

  void data(CommunicationKind kind, const Bucket& bucket, DataType type, Exposure exposure) {
    const auto algorithm = choose_algorithm(CommunicationKind::kReduceScatter, bucket.elements * size_of(type),
                                            layout_.data, layout_.strict_reduction);
    summary_.communications.push_back(
        {.communication = make_collective(kind, algorithm, GroupId(static_cast<int>(GroupKind::kData)),
                                          bucket.boundaries, 0, type, bucket.id),
         .exposure = exposure,
         .group = GroupKind::kData,
         .group_size = layout_.data,
         .count = 1});
  }

  void count_update() {
    const bool shards = layout_.zero_stage >= 1;
    const bool adam = plan_.training.optimizer == OptimizerKind::kAdamW;
    const bool has_master = size_of(layout_.parameter_type) < size_of(layout_.optimizer_type);
    const std::int64_t states = (adam ? 2 : plan_.training.momentum != 0.0 ? 1 : 0) + (has_master ? 1 : 0);
    for (const Bucket& bucket : buckets_) {
      const std::int64_t owned = bucket.boundaries[1] - bucket.boundaries[0];
      const std::int64_t updated = shards ? owned : bucket.elements;
      const auto pass = [](ElementwiseKernel kernel, std::int64_t n, std::int64_t reads, std::int64_t writes) {
        return Elementwise{kernel, n, ByteCount(reads * n * 4), ByteCount(writes * n * 4)};
      };
      summary_.update.push_back(pass(ElementwiseKernel::kSumOfSquares, owned, 1, 0));
      summary_.update.push_back(
          pass(adam ? ElementwiseKernel::kAdamW : ElementwiseKernel::kSgd, updated, 2 + states, 1 + states));
      if (layout_.data > 1) {
        data(shards ? CommunicationKind::kReduceScatter : CommunicationKind::kAllReduce, bucket, layout_.gradient_type,
             layout_.overlap_gradient_reduce ? Exposure::kWithBackward : Exposure::kExposed);
        if (shards) {
          data(CommunicationKind::kAllGather, bucket, layout_.parameter_type, Exposure::kExposed);
        }
      }
      if (two_tables() && bucket.parameters.front().parameter.kind == ParameterKind::kEmbedding) {
        summary_.communications.push_back(
            {.communication = make_collective(CommunicationKind::kAllReduce, CollectiveAlgorithm::kDirect,
                                              GroupId(static_cast<int>(GroupKind::kEmbedding)),
                                              even_boundaries(updated, 2), 0, layout_.gradient_type),
             .exposure = Exposure::kExposed,
             .group = GroupKind::kEmbedding,
             .group_size = 2,
             .count = 1});
      }
      count_norm_weights(bucket);
      summary_.persistent +=
          ByteCount(bucket.elements * (size_of(layout_.parameter_type) + size_of(layout_.gradient_type)) +
                    states * updated * size_of(layout_.optimizer_type));
    }
    if (layout_.ranks() > 1) {
      const auto world = static_cast<int>(layout_.ranks());
      const auto algorithm = choose_algorithm(CommunicationKind::kAllReduce, kSumsWords * 8, world, false);
      summary_.communications.push_back(
          {.communication =
               make_collective(CommunicationKind::kAllReduce, algorithm, GroupId(static_cast<int>(GroupKind::kWorld)),
                               even_boundaries(kSumsWords, world), 0, DataType::kInt64),
           .exposure = Exposure::kExposed,
           .group = GroupKind::kWorld,
           .group_size = world,
           .count = 1});
    }
  }

  void count_norm_weights(const Bucket& bucket) {
    if (!shares_tokens()) {
      return;
    }
    std::int64_t elements = 0;
    for (const BucketParameter& placed : bucket.parameters) {
      elements += placed.tensor_replicated ? placed.elements : 0;
    }
    if (elements > 0) {
      tensor(CommunicationKind::kAllReduce, elements, 1, Exposure::kExposed);
    }
  }

  void count_memory() {
    const SegmentShape& s = shape();
    const std::int64_t size = size_of(s.type);
    const bool gated = plan_.model.gated_feed_forward;
    const std::int64_t moments = plan_.model.normalization == Normalization::kLayer ? 2 : 1;
    const std::int64_t layer =
        4 * stream() + 2 * moments * s.norm_tokens +
        s.tokens * (s.qkv_width() + s.attention_width() + s.heads + (gated ? 3 : 2) * s.feed_forward);
    const bool recomputes = layout_.recompute == Recompute::kFull;
    std::int64_t held = 0, head = 0, step_tokens = 0;
    for (const Chunk& chunk : chunks_) {
      held += chunk.layers.size() * (recomputes ? stream() : layer);
      held += chunk.has_head ? 0 : stream();
      head += chunk.has_head ? 2 * stream() + moments * s.norm_tokens + s.tokens * s.vocabulary : 0;
      step_tokens += (chunk.embeds ? 1 : 0) + (chunk.has_head ? 1 : 0);
    }
    summary_.in_flight = in_flight(layout_, summary_.stage);
    // The worst moment is the head's backward, or the first layer's, when the head's buffers are gone.
    const std::int64_t per_chunk = (held + head) / static_cast<std::int64_t>(chunks_.size());
    const std::int64_t mlp_flow = (gated ? 3 : 2) * s.tokens * s.feed_forward;
    const std::int64_t attention_flow = s.tokens * (s.qkv_width() + s.attention_width());
    const std::int64_t layer_flow = std::max(mlp_flow, attention_flow) + (recomputes ? layer : 0) - head;
    const std::int64_t flow = stream() + whole() + std::max<std::int64_t>(0, layer_flow);
    summary_.persistent += ByteCount(step_tokens * m_ * s.tokens * 4 + kSumsWords * 8);
    summary_.activations_per_microbatch = ByteCount((held + head) * size);
    bytes_per_chunk_ = ByteCount(per_chunk * size);
    summary_.peak_estimate = summary_.persistent + ByteCount((summary_.in_flight * per_chunk + flow) * size);
  }

  const Plan& plan_;
  const Layout& layout_;
  std::int64_t m_;
  StageSegments segments_;
  LayerSegments layer_;  // all layers are alike
  std::vector<Chunk> chunks_;
  std::vector<Bucket> buckets_;
  StageSummary summary_;
  ByteCount bytes_per_chunk_;
};

// What is counted here is what an executor runs; other layouts are priced by simulator/throughput.
void require_countable(const Plan& plan) {
  const Layout& layout = plan.layout;
  const bool apart = layout.schedule != ScheduleKind::kGpipe && layout.schedule != ScheduleKind::k1f1b &&
                     layout.schedule != ScheduleKind::kInterleaved;
  const bool cut = layout.context > 1 || layout.expert > 1 || layout.expert_tensor > 1 || layout.zero_stage > 1 ||
                   layout.shard_group.has_value();
  if (apart || cut || !(is_llama_block(plan.model) || is_gpt2_block(plan.model)) || layout.recompute_every > 1 ||
      !layout.chunk_layers.empty() || layout.offload != Offload{}) {
    throw Error("a step of this layout isn't counted in closed form", "/layout",
                "simulate it, or use one that an executor runs");
  }
}

// All that a stage's counts depend on, but for the micro-batches in flight.
using StageSignature = std::vector<std::int64_t>;

StageSignature signature(const std::vector<Chunk>& chunks) {
  StageSignature result;
  for (const Chunk& chunk : chunks) {
    result.insert(result.end(), {chunk.layers.size(), chunk.embeds ? 1 : 0, chunk.has_head ? 1 : 0});
  }
  return result;
}

}  // namespace

StepSummary summarize(const Plan& plan) {
  require_countable(plan);
  StepSummary summary;
  summary.microbatches = plan.layout.accumulation;
  SegmentTable table;
  // Most stages of a deep pipeline are alike: they are counted once.
  std::map<StageSignature, std::pair<StageSummary, ByteCount>> known;
  for (int stage = 0; stage < plan.layout.pipeline; ++stage) {
    StageSignature alike = signature(stage_chunks(plan.model, plan.layout, stage));
    auto found = known.find(alike);
    if (found == known.end()) {
      StageCounter counter(plan, stage, table);
      StageSummary counted = counter.count();
      found = known.emplace(std::move(alike), std::pair(std::move(counted), counter.bytes_per_chunk())).first;
    }
    StageSummary one = found->second.first;
    const int held = in_flight(plan.layout, stage);
    one.stage = stage;
    one.peak_estimate += found->second.second * (held - one.in_flight);
    one.in_flight = held;
    summary.stages.push_back(std::move(one));
  }
  summary.segments = table.take();
  return summary;
}

}  // namespace trainyard
