#include <fmt/format.h>

#include <numeric>

#include "core/error.h"
#include "core/layout/mesh.h"
#include "core/model/model_limits.h"
#include "core/plan/plan_size.h"
#include "core/plan/validator.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {

void validate_degrees(const Layout& layout, const Validator& v) {
  v.in_range(layout.tensor, kMostRanks, "/layout/tensor");
  v.in_range(layout.pipeline, kMostRanks, "/layout/pipeline");
  v.in_range(layout.data, kMostRanks, "/layout/data");
  v.in_range(layout.context, kMostRanks, "/layout/context");
  v.in_range(layout.expert, kMostRanks, "/layout/expert");
  v.in_range(layout.expert_tensor, kMostRanks, "/layout/expert_tensor");
  v.in_range(layout.shard_group.value_or(1), kMostRanks, "/layout/shard_group");
  v.in_range(layout.recompute_every, kMostLayers, "/layout/recompute_every");
  v.in_range(layout.chunks_per_stage, kMostRanks, "/layout/chunks_per_stage");
  v.positive(layout.micro_batch, "/layout/micro_batch");
  v.positive(layout.accumulation, "/layout/accumulation");
  v.within(layout.zero_stage, 0, 3, "/layout/zero_stage");
  v.positive(layout.bucket_bytes.value(), "/layout/bucket");
}

void validate_two_chunks(const Layout& layout, const Validator& v) {
  v.require(layout.chunks_per_stage == 2, "/layout/chunks_per_stage",
            fmt::format("{} runs two chunks a stage, not {}", to_string(layout.schedule), layout.chunks_per_stage),
            "set chunks_per_stage to 2");
  if (layout.schedule == ScheduleKind::kDualPipe) {
    v.require(layout.pipeline % 2 == 0, "/layout/pipeline",
              fmt::format("dualpipe has {} stages, an odd number", layout.pipeline), "use an even number, or zb-v");
    v.require(layout.accumulation % 2 == 0 && layout.accumulation >= std::int64_t{2} * layout.pipeline,
              "/layout/accumulation", fmt::format("dualpipe has {} micro-batches", layout.accumulation),
              "use an even number, at least twice the stages: half enter at each end");
  }
}

void validate_schedule(const Layout& layout, const Validator& v) {
  switch (layout.schedule) {
    case ScheduleKind::kInterleaved:
      v.require(layout.chunks_per_stage > 1, "/layout/schedule",
                "the interleaved schedule needs more than one chunk per stage", "use \"1f1b\"");
      return v.divides(layout.pipeline, layout.accumulation, "/layout/pipeline",
                       "micro-batches (interleaved schedule)");
    case ScheduleKind::kZeroBubbleV:
    case ScheduleKind::kDualPipe:
      return validate_two_chunks(layout, v);
    default:
      v.require(layout.chunks_per_stage == 1, "/layout/chunks_per_stage",
                fmt::format("{} chunks per stage need the interleaved schedule", layout.chunks_per_stage),
                "set schedule to \"interleaved\", or chunks_per_stage to 1");
  }
}

// Which layers each chunk has.
void validate_chunks(const ModelSpec& model, const Layout& layout, const Validator& v) {
  const std::int64_t chunks = model_chunks(layout.schedule, layout.pipeline, layout.chunks_per_stage);
  if (layout.chunk_layers.empty()) {
    return v.require(chunks <= model.layers, "/layout/pipeline",
                     fmt::format("{} pipeline chunks are more than the model's {} layers", chunks, model.layers),
                     "use fewer stages");
  }
  v.require(static_cast<std::int64_t>(layout.chunk_layers.size()) == chunks, "/layout/chunk_layers",
            fmt::format("has {} entries for {} chunks", layout.chunk_layers.size(), chunks),
            "one for each chunk, in the order of the forward pass");
  const std::int64_t total = std::accumulate(layout.chunk_layers.begin(), layout.chunk_layers.end(), std::int64_t{0});
  v.require(total == model.layers, "/layout/chunk_layers",
            fmt::format("come to {} layers, not the model's {}", total, model.layers));
  for (std::size_t chunk = 0; chunk < layout.chunk_layers.size(); ++chunk) {
    const bool end = chunk == 0 || chunk + 1 == layout.chunk_layers.size();
    v.require(layout.chunk_layers[chunk] >= 1 || end, fmt::format("/layout/chunk_layers/{}", chunk), "has no layer",
              "only the first and the last chunk have work besides: the embedding, the loss");
  }
}

void validate_data_axis(const Layout& layout, const Validator& v) {
  const std::int64_t replicas = std::int64_t{layout.data} * layout.context;
  if (layout.shard_group) {
    v.require(layout.zero_stage >= 1, "/layout/shard_group", "needs something sharded",
              "set zero_stage, or leave it out");
    v.divides(*layout.shard_group, replicas, "/layout/shard_group", "ranks of data x context");
  }
  v.require(layout.recompute_every == 1 || layout.recompute != Recompute::kNone, "/layout/recompute_every",
            fmt::format("of {} layers, but nothing is recomputed", layout.recompute_every),
            "set recompute to \"full\" or \"selective\"");
}

void validate_experts_of(const ModelSpec& model, const Layout& layout, const Validator& v) {
  if (!model.experts) {
    v.require(layout.expert == 1, "/layout/expert", fmt::format("is {}, and the model has no experts", layout.expert),
              "use 1");
    return v.require(layout.expert_tensor == 1, "/layout/expert_tensor",
                     fmt::format("is {}, and the model has no experts", layout.expert_tensor), "use 1");
  }
  v.divides(layout.expert, model.experts->experts, "/layout/expert", "experts");
  v.divides(layout.expert_tensor, model.experts->expert_feed_forward, "/layout/expert_tensor",
            "rows of an expert's feed-forward");
}

void validate_context(const ModelSpec& model, const Layout& layout, std::int64_t sequence, const Validator& v) {
  v.divides(layout.context, sequence, "/layout/context", "tokens of a sequence");
  if (layout.context > 1 && layout.context_kind == ContextKind::kUlysses) {
    v.divides(std::int64_t{layout.context} * layout.tensor, model.key_value_heads, "/layout/context",
              "key and value heads (context x tensor, which ulysses shares them among)");
  }
}

void validate_size(const Plan& plan, const Validator& v) {
  if (const auto over = oversize(plan.model, plan.training, plan.layout)) {
    v.require(false, over->pointer, over->problem, over->hint);
  }
}

// The mesh knows the rule for the rank order and for expert degrees.
void validate_mesh(const Layout& layout, const Validator& v) {
  try {
    const Mesh mesh(layout);
  } catch (const Error& error) {
    throw Error(error.problem(), v.where() + "#/layout", error.hint());
  }
}

void validate_fit(const Plan& plan, const Validator& v) {
  const Layout& layout = plan.layout;
  const ModelSpec& model = plan.model;
  v.divides(layout.tensor, model.heads, "/layout/tensor", "heads");
  v.divides(layout.tensor, model.key_value_heads, "/layout/tensor", "key and value heads");
  v.require(layout.tensor <= model.feed_forward && layout.tensor <= model.vocabulary, "/layout/tensor",
            "is more than the feed-forward rows or the vocabulary");
  if (layout.sequence_parallel) {
    v.divides(layout.tensor, layout.micro_batch * plan.training.sequence, "/layout/tensor",
              "tokens of a micro-batch (sequence parallelism)");
  }
  validate_context(model, layout, plan.training.sequence, v);
  validate_experts_of(model, layout, v);
  validate_data_axis(layout, v);
  validate_chunks(model, layout, v);
  v.require(layout.sequences_per_step() == plan.training.global_batch, "/layout/accumulation",
            fmt::format("micro_batch {} x accumulation {} x data {} = {} sequences a step, not global_batch {}",
                        layout.micro_batch, layout.accumulation, layout.data, layout.sequences_per_step(),
                        plan.training.global_batch),
            "change one of them");
}

}  // namespace

void validate_layout(const Plan& plan, const Validator& v) {
  validate_degrees(plan.layout, v);
  validate_size(plan, v);
  validate_schedule(plan.layout, v);
  validate_mesh(plan.layout, v);
  validate_fit(plan, v);
}

}  // namespace trainyard
