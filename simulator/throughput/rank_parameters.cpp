#include "simulator/throughput/rank_parameters.h"

#include <algorithm>

namespace trainyard::simulator {

namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

double attention_parameters(const ModelSpec& model) {
  const double hidden = real(model.hidden);
  const double heads = real(model.heads);
  const double key = real(model.head_size);
  const double value = real(value_head_size(model));
  if (!model.latent_attention) {
    return hidden * (heads * key + real(model.key_value_heads) * (key + value)) + heads * value * hidden;
  }
  const LatentAttention& latent = *model.latent_attention;
  const double query = latent.query_rank ? real(*latent.query_rank) * (hidden + heads * key) : hidden * heads * key;
  return query + hidden * real(latent.key_value_rank + latent.rope_size) +
         real(latent.key_value_rank) * heads * (real(latent.no_rope_size) + value) + heads * value * hidden;
}

}  // namespace

RankParameters rank_parameters(const ModelSpec& model, const Layout& layout, int dense_layers, int expert_layers,
                               bool embeds, bool has_head) {
  const double hidden = real(model.hidden);
  const double matrices = model.gated_feed_forward ? 3.0 : 2.0;
  const double tp = layout.tensor;
  const double table = real(model.vocabulary) * hidden / tp;
  RankParameters held;
  held.dense = (dense_layers + expert_layers) * attention_parameters(model) / tp +
               dense_layers * matrices * hidden * real(model.feed_forward) / tp;
  if (model.experts) {
    const MixtureOfExperts& experts = *model.experts;
    const double one = matrices * hidden * real(experts.expert_feed_forward);
    held.dense += expert_layers * (real(experts.shared_experts) * one / tp + hidden * real(experts.experts));
    held.experts = expert_layers * one * real(experts.experts) / (layout.expert * layout.expert_tensor);
  }
  const bool both = embeds && has_head && model.tied_embeddings;
  held.dense += (embeds ? table : 0.0) + (has_head && !both ? table : 0.0);
  if (has_head) {
    const bool copies = model.multi_token_layers > 0 && !model.tied_embeddings && !embeds;
    held.dense += real(model.multi_token_layers) * merge_parameters(model, layout) + (copies ? table : 0.0);
  }
  return held;
}

double merge_parameters(const ModelSpec& model, const Layout& layout) {
  return 2.0 * real(model.hidden) * real(model.hidden) / layout.tensor;
}

double copied_table(const ModelSpec& model, const Layout& layout) {
  const bool twice = model.tied_embeddings || model.multi_token_layers > 0;
  const bool one_stage_has_both = layout.pipeline == 1 || layout.schedule == ScheduleKind::kZeroBubbleV ||
                                  layout.schedule == ScheduleKind::kDualPipe;
  return twice && !one_stage_has_both ? real(model.vocabulary) * real(model.hidden) / layout.tensor : 0.0;
}

}  // namespace trainyard::simulator
