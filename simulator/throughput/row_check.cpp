#include "simulator/throughput/row_check.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/model/model_limits.h"

namespace trainyard::simulator {

namespace {

constexpr std::int64_t kMostGpus = std::int64_t{1} << 22;
constexpr std::int64_t kMostBatch = std::int64_t{1} << 32;

// Collects the first thing that is out of range.
class RangeCheck {
 public:
  void in_range(std::int64_t value, std::int64_t least, std::int64_t most, const char* key) {
    if (problem_.empty() && (value < least || value > most)) {
      problem_ = fmt::format("{} is {}, not from {} to {}", key, value, least, most);
    }
  }
  void in_range(std::optional<std::int64_t> value, std::int64_t least, std::int64_t most, const char* key) {
    if (value) {
      in_range(*value, least, most, key);
    }
  }
  const std::string& problem() const { return problem_; }

 private:
  std::string problem_;
};

void check_model(const PublishedModel& model, RangeCheck& check) {
  check.in_range(model.layers, 1, kMostLayers, "model.layers");
  check.in_range(model.hidden, 1, kMostHidden, "model.hidden");
  check.in_range(model.feed_forward, 1, kMostFeedForward, "model.ffn_hidden");
  check.in_range(model.heads, 1, kMostHeads, "model.heads");
  check.in_range(model.key_value_heads, 1, kMostHeads, "model.kv_heads");
  check.in_range(model.head_size, 1, kMostHeadSize, "model.head_dim");
  check.in_range(model.vocabulary, 1, kMostVocabulary, "model.vocab");
  check.in_range(model.sequence, 1, kMostPositions, "model.seq_len");
  if (model.experts && model.experts->experts > 0) {
    const PublishedExperts& experts = *model.experts;
    check.in_range(experts.experts, 1, kMostExperts, "model.moe.experts");
    check.in_range(experts.top_k, 1, experts.experts, "model.moe.top_k");
    check.in_range(experts.feed_forward, 1, kMostFeedForward, "model.moe.expert_ffn_hidden");
    check.in_range(experts.shared, 0, kMostExperts, "model.moe.shared_experts");
    check.in_range(experts.shared_feed_forward, 0, kMostFeedForward, "model.moe.shared_expert_ffn_hidden");
    check.in_range(experts.dense_layers, 0, kMostLayers, "model.moe.dense_layers");
  }
  if (model.latent) {
    check.in_range(model.latent->query_rank, 1, kMostHidden, "model.mla.q_lora_rank");
    check.in_range(model.latent->key_value_rank, 1, kMostHidden, "model.mla.kv_lora_rank");
    check.in_range(model.latent->no_rope, 1, kMostHeadSize, "model.mla.qk_nope_head_dim");
    check.in_range(model.latent->rope, 1, kMostHeadSize, "model.mla.qk_rope_head_dim");
    check.in_range(model.latent->value, 1, kMostHeadSize, "model.mla.v_head_dim");
  }
}

void check_layout(const PublishedParallelism& row, RangeCheck& check) {
  for (const auto& [value, key] : {std::pair{row.tp, "tp"}, std::pair{row.pp, "pp"}, std::pair{row.dp, "dp"},
                                   std::pair{row.cp, "cp"}, std::pair{row.ep, "ep"}, std::pair{row.etp, "etp"}}) {
    check.in_range(value, 1, kMostGpus, key);
  }
  check.in_range(row.vpp, 1, kMostLayers, "vpp");
  check.in_range(row.micro_batch, 1, kMostBatch, "micro_batch");
  check.in_range(row.global_batch, 1, kMostBatch, "global_batch");
  check.in_range(row.accumulation, 1, kMostBatch, "grad_accum");
}

}  // namespace

std::string why_unusable(const PublishedRun& run) {
  RangeCheck check;
  check_model(run.model, check);
  check_layout(run.parallelism, check);
  check.in_range(run.gpus, 1, kMostGpus, "hardware.gpus_total");
  check.in_range(run.gpus_per_node, 1, kMostGpus, "hardware.gpus_per_node");
  if (!check.problem().empty()) {
    return check.problem();
  }
  const PublishedModel& model = run.model;
  if (model.layers && run.parallelism.vpp && run.parallelism.pp &&
      *run.parallelism.vpp * *run.parallelism.pp > *model.layers + 2) {
    return fmt::format("pp {} x vpp {} are more chunks than the {} layers", *run.parallelism.pp, *run.parallelism.vpp,
                       *model.layers);
  }
  return {};
}

}  // namespace trainyard::simulator
