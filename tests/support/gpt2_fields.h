// What makes a model of some sizes a GPT-2.
#pragma once

#include "core/model/model_spec.h"

namespace trainyard::testing {

inline void set_gpt2_fields(ModelSpec& model) {
  model.family = ModelFamily::kGpt2;
  model.normalization = Normalization::kLayer;
  model.activation = Activation::kGeluTanh;
  model.gated_feed_forward = false;
  model.position_encoding = PositionEncoding::kLearned;
  model.query_key_value_bias = model.output_bias = model.feed_forward_bias = true;
}

}  // namespace trainyard::testing
