#include <fmt/format.h>

#include "core/model/model_limits.h"
#include "core/plan/validator.h"

namespace trainyard {

namespace {

// The sizes multiplied as reals: a count beyond 64 bits shows as such.
void validate_experts(const ModelSpec& model, const MixtureOfExperts& experts, const Validator& v) {
  v.in_range(experts.experts, kMostExperts, "/model/experts/experts");
  v.in_range(experts.experts_per_token, experts.experts, "/model/experts/experts_per_token");
  v.in_range(experts.expert_feed_forward, kMostFeedForward, "/model/experts/expert_feed_forward");
  v.require(experts.shared_experts >= 0 && experts.shared_experts <= kMostExperts, "/model/experts/shared_experts",
            fmt::format("is {}", experts.shared_experts), fmt::format("must be 0 to {}", kMostExperts));
  v.require(experts.first_dense_layers >= 0 && experts.first_dense_layers < model.layers,
            "/model/experts/first_dense_layers", fmt::format("is {}", experts.first_dense_layers),
            "must be below the number of layers");
  v.in_range(experts.every, model.layers, "/model/experts/every");
  v.in_range(experts.groups, experts.experts, "/model/experts/groups");
  v.divides(experts.groups, experts.experts, "/model/experts/groups", "experts");
  v.in_range(experts.groups_per_token, experts.groups, "/model/experts/groups_per_token");
  v.require(!experts.capacity_factor || *experts.capacity_factor > 0.0, "/model/experts/capacity_factor",
            "is not above 0", "null drops nothing");
  v.within(experts.imbalance, 1.0, static_cast<double>(experts.experts), "/model/experts/imbalance");
  const double elements = 3.0 * static_cast<double>(model.layers) * static_cast<double>(model.hidden) *
                          static_cast<double>(experts.experts + experts.shared_experts) *
                          static_cast<double>(experts.expert_feed_forward);
  v.require(elements <= kMostElements, "/model/experts/experts",
            fmt::format("give the model {:.1e} parameters", elements), "use fewer or narrower experts");
}

void validate_attention(const ModelSpec& model, const Validator& v) {
  v.in_range(model.heads, kMostHeads, "/model/heads");
  v.in_range(model.key_value_heads, kMostHeads, "/model/key_value_heads");
  v.divides(model.key_value_heads, model.heads, "/model/key_value_heads", "heads");
  v.in_range(model.head_size, kMostHeadSize, "/model/head_size");
  v.require(model.head_size % 2 == 0 || model.position_encoding != PositionEncoding::kRotary, "/model/head_size",
            "is odd", "rotary positions turn pairs");
  v.require(model.rotary_fraction > 0.0 && model.rotary_fraction <= 1.0, "/model/rotary_fraction",
            "is not above 0, at most 1");
  v.in_range(value_head_size(model), kMostHeadSize, "/model/value_head_size");
  if (const std::optional<LatentAttention>& latent = model.latent_attention) {
    v.in_range(latent->query_rank.value_or(1), kMostHidden, "/model/latent_attention/query_rank");
    v.in_range(latent->key_value_rank, kMostHidden, "/model/latent_attention/key_value_rank");
    v.in_range(latent->no_rope_size, kMostHeadSize, "/model/latent_attention/no_rope_size");
    v.in_range(latent->rope_size, kMostHeadSize, "/model/latent_attention/rope_size");
    v.require(latent->no_rope_size + latent->rope_size == model.head_size, "/model/head_size",
              fmt::format("{} is not no_rope_size {} + rope_size {}", model.head_size, latent->no_rope_size,
                          latent->rope_size));
    v.require(model.key_value_heads == model.heads, "/model/key_value_heads",
              "are not as many as heads: from a latent, each head gets its own");
  }
  if (const std::optional<SlidingWindow>& window = model.sliding_window) {
    v.in_range(window->window, kMostPositions, "/model/sliding_window/window");
    v.require(window->full_every >= 0, "/model/sliding_window/full_every", "is negative", "0: no layer sees all");
  }
}

}  // namespace

void validate_model(const ModelSpec& model, const Validator& v) {
  v.in_range(model.layers, kMostLayers, "/model/layers");
  v.in_range(model.hidden, kMostHidden, "/model/hidden");
  v.in_range(model.feed_forward, kMostFeedForward, "/model/feed_forward");
  validate_attention(model, v);
  v.in_range(model.vocabulary, kMostVocabulary, "/model/vocabulary");
  v.in_range(model.positions, kMostPositions, "/model/positions");
  if (model.experts) {
    validate_experts(model, *model.experts, v);
  }
  v.require(model.multi_token_layers >= 0 && model.multi_token_layers <= kMostMultiTokenLayers,
            "/model/multi_token_layers", fmt::format("is {}", model.multi_token_layers),
            fmt::format("must be 0 to {}", kMostMultiTokenLayers));
  v.require(!model.shared_norm || model.parallel_branches, "/model/shared_norm",
            "needs parallel_branches: a norm is shared by branches side by side");
}

}  // namespace trainyard
