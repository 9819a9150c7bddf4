// LayerSizes: one kind of layer as a rank sees it: its share of the products, heads and experts of a LayerShape.
//
//   tp       cuts products (TensorCut), heads and the dense feed-forward
//   cp       cuts a sequence's tokens; under Ulysses, heads instead while scores are made
//   ep, etp  cut the experts among ranks, and each expert
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/layout/layout.h"
#include "core/model/layer_shape.h"
#include "core/model/model_spec.h"

namespace trainyard {

struct LocalProduct {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool bias = false;
};

struct LocalAttention {
  std::vector<LocalProduct> inputs;  // to queries, keys and values, in order
  LocalProduct output;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t key_size = 0;    // of a head
  std::int64_t value_size = 0;  // of a head
  std::int64_t window = 0;      // 0: none
  std::int64_t normed = 0;      // elements of a token that norms inside see
  std::int64_t rotated = 0;     // elements of a token that positions turn

  std::int64_t products_width() const;  // of a token, all that the input products make
  std::int64_t key_value_width() const { return key_heads * (key_size + value_size); }
  std::int64_t output_width() const { return heads * value_size; }
};

struct LocalFeedForward {
  std::int64_t hidden = 0;
  std::int64_t width = 0;
  bool gated = true;
  bool bias = false;  // of both products
  std::int64_t up_width() const { return (gated ? 2 : 1) * width; }
};

struct LocalExperts {
  std::int64_t experts = 0;    // of the whole layer
  std::int64_t here = 0;       // on this rank
  std::int64_t per_token = 0;  // top-k
  std::int64_t tokens = 0;     // of a micro-batch that this rank routes
  std::int64_t each = 0;       // that reach one expert here on average, of all ranks of its group
  std::int64_t busiest = 0;    // ... on the busiest rank: what its kernels take
  LocalFeedForward expert;     // one

  std::int64_t routed() const { return tokens * per_token; }
  std::int64_t received() const { return each * here; }
};

struct LayerSizes {
  LocalAttention attention;
  std::optional<LocalFeedForward> feed_forward;  // dense, or of the shared experts
  std::optional<LocalExperts> experts;
};

// routed_tokens: of a micro-batch on this rank, before any expert is chosen.
LayerSizes layer_sizes(const ModelSpec& model, const LayerShape& layer, const Layout& layout, int tensor_index,
                       std::int64_t routed_tokens);

// Elements of this rank's share of a layer's weights, by what completes together in backward.
struct LayerWeights {
  std::int64_t attention_norm = 0;
  std::int64_t attention = 0;  // input products, norms inside
  std::int64_t output = 0;
  std::int64_t mlp_norm = 0;
  std::int64_t feed_forward = 0;  // dense or shared
  std::int64_t router = 0;
  std::int64_t experts = 0;
};
LayerWeights layer_weights(const LayerShape& layer, const Layout& layout);

}  // namespace trainyard
