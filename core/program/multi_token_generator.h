// MultiTokenGenerator: what a multi-token block does before its layer and head, forward and backward.
//
//   h' = W [norm(h) ; norm(embedding of the next token)]      W: [hidden, 2 hidden], outputs cut over tp
//
// h is the hidden state behind the last layer, or behind the block before; a layer of the last kind, a norm and the
// model's own head follow. The embedding's table is the model's: a stage that doesn't begin with it holds a copy. The
// next tokens are the targets. Columns are gathered behind the product, and with sequence parallelism a rank goes on
// with its share of the tokens (Megatron-LM, multi_token_prediction.py). Both norms write their half of one buffer.
// Source: DeepSeek-V3 (arXiv 2412.19437), section 2.2.
#pragma once

#include "core/program/head_generator.h"
#include "core/program/layer_generator.h"
#include "core/program/stage_context.h"
#include "core/program/weight_passes.h"

namespace trainyard {

// What forward leaves for the backward of one block.
struct BlockStash {
  BufferId hidden, hidden_rstd;      // the hidden state that it takes on, and of its norm
  BufferId embedded, embedded_rstd;  // the next tokens' embedding, whole over tp
  BufferId normed;                   // both, side by side
  BufferId merged;                   // input of the layer
  LayerStash layer;                  // empty where it is run again
  HeadStash head;
};

class MultiTokenGenerator {
 public:
  MultiTokenGenerator(StageContext& stage, WeightPasses& weights) : stage_(stage), weights_(weights) {}

  // place.layer: the block's, behind the model's own.
  BufferId forward(const Place& place, BufferId hidden, BufferId embedded, BlockStash& kept);
  struct Gradients {
    BufferId hidden;
    BufferId embedded;
  };
  Gradients backward(const Place& place, BufferId gradient, const BlockStash& kept);

 private:
  BufferId forward_norm(const Place& place, ParameterKind weight, BufferId input, BufferId normed);
  BufferId backward_norm(const Place& place, ParameterKind weight, BufferId normed_grad, BufferId input, BufferId rstd);

  StageContext& stage_;
  WeightPasses& weights_;
};

}  // namespace trainyard
