#include "core/model/model_spec.h"

namespace trainyard {

bool has_experts(const ModelSpec& model, std::int64_t layer) {
  if (!model.experts || layer < model.experts->first_dense_layers) {
    return false;
  }
  return (layer - model.experts->first_dense_layers) % model.experts->every == 0;
}

bool full_attention(const ModelSpec& model, std::int64_t layer) {
  if (!model.sliding_window) {
    return true;
  }
  const std::int64_t every = model.sliding_window->full_every;
  return every > 0 && (layer + 1) % every == 0;
}

std::int64_t value_head_size(const ModelSpec& model) { return model.value_head_size.value_or(model.head_size); }

}  // namespace trainyard
