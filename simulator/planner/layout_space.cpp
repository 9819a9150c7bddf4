#include "simulator/planner/layout_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace trainyard::simulator {
namespace {

std::vector<std::int64_t> divisors(std::int64_t n, std::int64_t limit) {
  std::vector<std::int64_t> result;
  for (std::int64_t d = 1; d <= std::min(n, limit); ++d) {
    if (n % d == 0) {
      result.push_back(d);
    }
  }
  return result;
}

// Collects blocks, and why degrees are none.
class BlockCollector {
 public:
  explicit BlockCollector(const LayoutSpace& space) : space_(space), model_(space.workload.model) {}

  LayoutBlocks run() {
    for (const std::int64_t tensor :
         divisors(space_.ranks, std::min<std::int64_t>(space_.limits.max_tensor, model_.heads))) {
      Layout layout = space_.base;
      layout.tensor = static_cast<int>(tensor);
      layout.data = static_cast<int>(space_.ranks / tensor);
      layout.chunks_per_stage = 1;
      layout.sequence_parallel = false;
      layout.schedule = ScheduleKind::k1f1b;
      if (std::optional<std::string> why = tensor_problem(layout)) {
        impossible(layout, std::move(*why));
        continue;
      }
      for (const std::int64_t pipeline : divisors(space_.ranks / tensor, model_.layers)) {
        layout.pipeline = static_cast<int>(pipeline);
        add_contexts(layout);
      }
    }
    return std::move(result_);
  }

 private:
  std::optional<std::string> tensor_problem(const Layout& layout) const {
    const std::int64_t heads = model_.latent_attention ? model_.heads : model_.key_value_heads;
    if (heads % layout.tensor != 0) {
      return fmt::format("{} {}heads can't be cut over {} tensor-parallel ranks", heads,
                         model_.latent_attention ? "" : "key-value ", layout.tensor);
    }
    if (model_.feed_forward % layout.tensor != 0) {
      return fmt::format("a feed-forward of {} can't be cut over {} tensor-parallel ranks", model_.feed_forward,
                         layout.tensor);
    }
    return std::nullopt;
  }

  void add_contexts(Layout layout) {
    const std::int64_t rest = space_.ranks / layout.tensor / layout.pipeline;
    for (const std::int64_t context : divisors(rest, space_.limits.max_context)) {
      if (space_.workload.sequence % (2 * context) != 0 && context > 1) {  // causal halves share the work evenly
        layout.context = static_cast<int>(context);
        impossible(layout, fmt::format("{} tokens can't be cut evenly over {} context-parallel ranks",
                                       space_.workload.sequence, context));
        continue;
      }
      layout.context = static_cast<int>(context);
      layout.data = static_cast<int>(rest / context);
      add_experts(layout);
    }
  }

  void add_experts(Layout layout) {
    if (!model_.experts) {
      add_micro_batches(layout);
      return;
    }
    const std::int64_t stage = space_.ranks / layout.pipeline;
    for (const std::int64_t expert : divisors(stage, model_.experts->experts)) {
      if (model_.experts->experts % expert != 0) {
        continue;
      }
      layout.expert = static_cast<int>(expert);
      for (const std::int64_t tensor : {std::int64_t{1}, std::int64_t{layout.tensor}}) {
        if (stage % (expert * tensor) != 0 || model_.experts->expert_feed_forward % tensor != 0) {
          continue;
        }
        layout.expert_tensor = static_cast<int>(tensor);
        add_micro_batches(layout);
        if (layout.tensor == 1) {
          break;
        }
      }
    }
  }

  void add_micro_batches(Layout layout) {
    const std::int64_t batch = space_.workload.global_batch;
    if (batch % layout.data != 0) {
      layout.micro_batch = 1;
      layout.accumulation = std::max<std::int64_t>(1, batch / layout.data);
      impossible(layout, fmt::format("a batch of {} sequences can't be dealt out to {} data-parallel ranks", batch,
                                     layout.data));
      return;
    }
    const std::int64_t share = batch / layout.data;
    for (const std::int64_t micro_batch : divisors(share, space_.limits.max_micro_batch)) {
      layout.micro_batch = micro_batch;
      layout.accumulation = share / micro_batch;
      result_.blocks.push_back(layout);
    }
  }

  void impossible(const Layout& layout, std::string detail) {
    const auto known = std::ranges::find(result_.impossible, detail, &ImpossibleDegrees::detail);
    if (known == result_.impossible.end()) {
      result_.impossible.push_back({layout, std::move(detail), 1});
    } else {
      ++known->count;
    }
  }

  const LayoutSpace& space_;
  const ModelSpec& model_;
  LayoutBlocks result_;
};

constexpr int kMostUnevenChunks = 4;

std::vector<std::pair<ScheduleKind, int>> schedules(const LayoutSpace& space, const LayoutBlock& block) {
  const std::int64_t layers = space.workload.model.layers;
  const std::int64_t p = block.pipeline;
  std::vector<std::pair<ScheduleKind, int>> result{{ScheduleKind::k1f1b, 1}};
  if (p == 1) {
    return result;
  }
  result.emplace_back(ScheduleKind::kGpipe, 1);
  if (block.accumulation % p == 0) {
    for (int chunks = 2; chunks <= space.limits.max_chunks && chunks * p <= layers; ++chunks) {
      // With the embedding and the loss as layers too, or nearly even by twos.
      const bool even = layers % (chunks * p) == 0 || (layers + 2) % (chunks * p) == 0;
      if (even || (chunks <= kMostUnevenChunks && (chunks & (chunks - 1)) == 0)) {
        result.emplace_back(ScheduleKind::kInterleaved, chunks);
      }
    }
  }
  // With fewer micro-batches nothing fills the bubble, and their schedulers refuse: zero-bubble-pipeline-parallelism
  // asks for as many as are in flight, DualPipe for two a stage.
  if (block.accumulation >= p) {
    result.emplace_back(ScheduleKind::kZeroBubbleH1, 1);
  }
  if (block.accumulation >= 2 * p) {
    result.emplace_back(ScheduleKind::kZeroBubbleH2, 1);
    if (2 * p <= layers) {
      result.emplace_back(ScheduleKind::kZeroBubbleV, 2);
    }
    if (p % 2 == 0 && block.accumulation % 2 == 0) {
      result.emplace_back(ScheduleKind::kDualPipe, 2);
    }
  }
  return result;
}

// ZeRO stages with the ranks that share out: all, or those of a node.
std::vector<std::pair<int, std::optional<int>>> shardings(const LayoutSpace& space, const LayoutBlock& block) {
  std::vector<std::pair<int, std::optional<int>>> result{{0, std::nullopt}};
  const int replicas = block.data * block.context;
  if (replicas == 1) {
    return result;
  }
  for (const int stage : {1, 2, 3}) {
    result.emplace_back(stage, std::nullopt);
  }
  const auto in_node = static_cast<int>(space.ranks_per_node / block.tensor);
  if (in_node > 1 && in_node < replicas && replicas % in_node == 0) {
    result.emplace_back(3, in_node);
  }
  return result;
}

std::vector<ContextKind> context_kinds(const LayoutSpace& space, const LayoutBlock& block) {
  if (block.context == 1) {
    return {space.base.context_kind};
  }
  std::vector<ContextKind> result{ContextKind::kRing, ContextKind::kAllGather};
  const ModelSpec& model = space.workload.model;
  const std::int64_t heads = model.latent_attention ? model.heads : model.key_value_heads;
  if (heads % (std::int64_t{block.tensor} * block.context) == 0) {
    result.push_back(ContextKind::kUlysses);
  }
  return result;
}

std::vector<bool> switched(bool exists, bool vary, bool usual) {
  if (!exists) {
    return {usual};
  }
  return vary ? std::vector<bool>{false, true} : std::vector<bool>{true};
}

std::vector<Offload> offloads(const SpaceLimits& limits) {
  std::vector<Offload> result{{}};
  if (limits.offload) {
    for (int bits = 1; bits < 8; ++bits) {
      result.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
    }
  }
  return result;
}

// Overlap switches for the layout's degrees and ZeRO stage, by bits; every combination.
std::vector<std::array<bool, 5>> overlaps(const LayoutSpace& space, const Layout& layout) {
  const bool vary = space.limits.vary_overlap;
  const bool replicas = layout.data * layout.context > 1;
  std::vector<std::array<bool, 5>> result;
  for (const bool reduce : switched(replicas, vary, space.base.overlap_gradient_reduce)) {
    for (const bool gather : switched(replicas && layout.zero_stage > 0 && layout.zero_stage < 3, vary, false)) {
      for (const bool tensor : switched(layout.tensor > 1, vary, false)) {
        for (const bool pipeline : switched(layout.pipeline > 1, vary, false)) {
          for (const bool expert : switched(layout.expert > 1, vary, false)) {
            result.push_back({reduce, gather, tensor, pipeline, expert});
          }
        }
      }
    }
  }
  return result;
}

void set_overlaps(Layout& layout, const std::array<bool, 5>& on) {
  layout.overlap_gradient_reduce = on[0];
  layout.overlap_parameter_gather = on[1];
  layout.overlap_tensor = on[2];
  layout.overlap_pipeline = on[3];
  layout.overlap_expert = on[4];
}

bool cuts_tokens(const LayoutSpace& space, const Layout& layout) {
  return layout.tensor > 1 && space.workload.sequence * layout.micro_batch / layout.context % layout.tensor == 0;
}

}  // namespace

LayoutBlocks layout_blocks(const LayoutSpace& space) { return BlockCollector(space).run(); }

std::vector<LayoutVariant> block_variants(const LayoutSpace& space, const LayoutBlock& block) {
  std::vector<LayoutVariant> result;
  for (const auto& [schedule, chunks] : schedules(space, block)) {
    result.push_back({schedule, chunks, Recompute::kNone, 1});
    if (space.limits.selective) {
      result.push_back({schedule, chunks, Recompute::kSelective, 1});
    }
    const std::int64_t layers = space.workload.model.layers / (std::int64_t{block.pipeline} * chunks);
    for (const int every : {1, 2, 4}) {
      if (every == 1 || every <= layers) {
        result.push_back({schedule, chunks, Recompute::kFull, every});
      }
    }
  }
  return result;
}

void for_each_layout(const LayoutSpace& space, const LayoutBlock& block, const LayoutVariant& variant,
                     const std::function<void(const Layout&, std::int64_t)>& visit) {
  Layout layout = block;
  layout.schedule = variant.schedule;
  layout.chunks_per_stage = variant.chunks;
  layout.recompute = variant.recompute;
  layout.recompute_every = variant.recompute_every;
  std::int64_t ordinal = 0;
  const std::vector<Offload> offload_choices = offloads(space.limits);
  for (const auto& [stage, group] : shardings(space, block)) {
    layout.zero_stage = stage;
    layout.shard_group = group;
    const auto overlap_choices = overlaps(space, layout);
    for (const bool sequence : switched(cuts_tokens(space, layout), true, false)) {
      layout.sequence_parallel = sequence;
      for (const ContextKind kind : context_kinds(space, block)) {
        layout.context_kind = kind;
        for (const Offload& offload : offload_choices) {
          layout.offload = offload;
          for (const auto& on : overlap_choices) {
            set_overlaps(layout, on);
            visit(layout, ordinal++);
          }
        }
      }
    }
  }
}

}  // namespace trainyard::simulator
