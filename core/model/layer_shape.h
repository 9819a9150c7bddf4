// LayerShape: what one layer of a model consists of. Parameters, FLOPs, memory and time are all counted from it, so
// that they agree on what a layer is.
//
// The layer as software runs it: query, key and value in one product, gate and up in one. Per token:
//
//   grouped attention      x -> q k v             heads q + key heads (q + v)     (Ainslie et al. 2023)
//   latent attention       x -> latents -> q k v  low-rank products, norms between (DeepSeek-V2, section 2.1)
//   attention              q k -> scores -> v     over all earlier tokens, or the last `window`
//   feed-forward           x -> (gate) up -> down, dense; or a router and top-k of the experts (and shared ones)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/model_spec.h"

namespace trainyard {

// How tensor parallelism cuts a product's weights (Shoeybi et al. 2019, section 3).
enum class TensorCut : std::uint8_t {
  kOutputs,  // column-parallel
  kInputs,   // row-parallel: partial sums follow
  kWhole,    // every rank has all of it
};

// y = W x (+ b) of one token.
struct ProductShape {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  TensorCut cut = TensorCut::kOutputs;
  bool bias = false;

  std::int64_t weights() const { return inputs * outputs; }
  std::int64_t parameters() const { return weights() + (bias ? outputs : 0); }
  friend bool operator==(const ProductShape&, const ProductShape&) = default;
};

struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;  // heads, for latent attention: each has its own keys once they are unpacked
  std::int64_t query_key_size = 0;   // of a head
  std::int64_t value_size = 0;
  std::optional<std::int64_t> window;  // none: all earlier tokens
  // From the hidden state to queries, keys and values, in the order of work: one product; or, latent: queries (one
  // product or down and up), keys and values down, and up.
  std::vector<ProductShape> inputs;
  ProductShape output;
  // What a token's keys and values are passed on as: their own size, or the latent and the shared rotary key.
  std::int64_t key_value_elements = 0;
  std::int64_t norm_elements = 0;  // parameters of norms inside: of latents, of query and key heads
  std::int64_t sinks = 0;          // learned logits

  std::int64_t query_elements() const { return heads * query_key_size; }
  std::int64_t output_elements() const { return heads * value_size; }
  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

struct FeedForwardShape {
  std::int64_t width = 0;
  bool gated = true;
  Activation activation = Activation::kSilu;
  ProductShape up;  // gate and up side by side where gated: 2 width outputs
  ProductShape down;

  std::int64_t weights() const { return up.weights() + down.weights(); }
  std::int64_t parameters() const { return up.parameters() + down.parameters(); }
  friend bool operator==(const FeedForwardShape&, const FeedForwardShape&) = default;
};

struct ExpertsShape {
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  ProductShape router;
  FeedForwardShape expert;                 // one
  std::optional<FeedForwardShape> shared;  // all shared experts as one, that every token visits
  std::optional<double> capacity_factor;   // none: dropless
  double imbalance = 1.0;
  friend bool operator==(const ExpertsShape&, const ExpertsShape&) = default;
};

struct LayerShape {
  std::int64_t hidden = 0;
  Normalization normalization = Normalization::kRms;
  int norms = 2;                   // of the hidden state
  bool parallel_branches = false;  // attention and feed-forward side by side, one sum
  AttentionShape attention;
  std::optional<FeedForwardShape> feed_forward;  // dense layers
  std::optional<ExpertsShape> experts;           // the others
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

// A block that predicts one token further (DeepSeek-V3, section 2.2): the hidden state and the next token's
// embedding, each through a norm, side by side through a product, a layer, a norm and the model's own head.
struct MultiTokenShape {
  std::int64_t blocks = 0;
  ProductShape projection;  // 2 hidden -> hidden
  LayerShape layer;
  int norms = 3;  // of the hidden state, besides the layer's
  friend bool operator==(const MultiTokenShape&, const MultiTokenShape&) = default;
};

struct ModelShape {
  std::vector<LayerShape> kinds;    // that differ: few
  std::vector<int> kind_of_layer;   // index into kinds, by layer
  std::vector<std::int64_t> count;  // layers of each kind
  std::optional<MultiTokenShape> multi_token;
  std::int64_t embedding_parameters = 0;   // table, and its norm
  std::int64_t position_parameters = 0;    // learned positions
  std::int64_t final_norm_parameters = 0;  // before the head
  ProductShape head;                       // tied or not
  bool tied_embeddings = false;

  const LayerShape& layer(std::int64_t index) const;
};

LayerShape layer_shape(const ModelSpec& model, std::int64_t layer);
ModelShape model_shape(const ModelSpec& model);

// Of the whole layer; and of what one token meets: top-k of the experts.
std::int64_t parameter_count(const LayerShape& layer);
std::int64_t active_parameter_count(const LayerShape& layer);
// Weights of the products that one token goes through, biases and norms left out.
std::int64_t active_weight_count(const LayerShape& layer);
// Own ones: the embedding and the head are the model's.
std::int64_t parameter_count(const MultiTokenShape& multi_token);

// Scores that a token takes part in as a query, on average over a causal sequence of s: s / 2; with a window w < s:
// w - w^2 / (2 s). (The diagonal counted half, as the usual formulas do.)
double mean_keys(const AttentionShape& attention, std::int64_t sequence);

}  // namespace trainyard
