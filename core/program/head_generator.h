// HeadGenerator: what ends a run of layers: a norm, the products with the vocabulary and the loss.
//
//   norm | f | head | statistics gathered | loss
//
// The model's own head ends with the final norm; behind a multi-token block the same products follow a norm of the
// block's.
#pragma once

#include <optional>

#include "core/program/layer_generator.h"
#include "core/program/stage_context.h"
#include "core/program/weight_passes.h"

namespace trainyard {

// What forward leaves for backward.
struct HeadStash {
  BufferId residual;  // input of the norm
  BufferId normed, rstd, logits;
};

class HeadGenerator {
 public:
  HeadGenerator(StageContext& stage, WeightPasses& weights, LayerGenerator& layers)
      : stage_(stage), weights_(weights), layers_(layers) {}

  // place.layer: the multi-token block's whose norm it is, none for the model's own. goes_on: a block takes the hidden
  // state on from here.
  void forward(const Place& place, BufferId residual, std::optional<BufferId> branch, bool goes_on, HeadStash& kept);
  // behind: gradient of the hidden state from the block that took it on. Returns that of the residual stream.
  BufferId backward(const Place& place, std::optional<BufferId> behind, const HeadStash& kept);

 private:
  BufferId backward_products(const Place& place, const HeadStash& kept);

  StageContext& stage_;
  WeightPasses& weights_;
  LayerGenerator& layers_;
};

}  // namespace trainyard
