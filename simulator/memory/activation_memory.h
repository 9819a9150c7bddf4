// Activation memory: the bytes that one token leaves on a rank, from a layer's forward to its backward.
//
// Kept is what a backward kernel reads: inputs of norms and of products, queries, keys, values and the attention's
// output, the feed-forward's up (and gate) outputs and their activation. With b bytes an activation, g bytes a
// product's input (8 bits in fp8), hidden h, tp t (norms' share c = t with sequence parallelism, 1 without):
//
//   grouped attention   (b + g) h / c + b (q + k + v) / t + b o / t          o: heads x value size
//   latent attention    (b + g) h / c + (b + g) latents / c + b (2 q + k + k' v') / t + b o / t
//   feed-forward        (b + g) h / c + (b u + g w) / t                      w wide, u = 2 w gated, w plain
//   experts             (b + g) h / c + 8 E / c + n ((b + g) h + (b u + g w) / etp),
//                       n = top-k imbalance etp / tp tokens on an expert-tensor group per token of a tp group
//   scores, unfused     5 s heads / t
//
// Between a layer's input gradient and its weight gradient, where a schedule takes them apart, products' inputs and
// output gradients stay: q + k + v, the up outputs and h for each row-parallel product (gathered, so not cut by
// sequence parallelism) and each norm come, q + k + v and the up outputs go. What is left of it per token:
//
//   attention, feed-forward, shared experts   b h each        experts   n b h        norms   b h / c each
//
// Recomputation: full keeps a layer's input b h / c; selective drops the scores.
// Source: Korthikanti et al. 2022, equations 1 to 6 (without dropout's masks on the residual); DeepSeek-V2, section
// 2.1; Megatron-LM and Transformer Engine keep the same tensors.
#pragma once

#include "core/layout/layout.h"
#include "core/model/layer_shape.h"
#include "simulator/memory/memory_habits.h"

namespace trainyard::simulator {

struct ActivationBytes {
  double all = 0.0;       // a token's, nothing recomputed
  double input = 0.0;     // a token's, all recomputed
  double deferred = 0.0;  // on top of `all`, until the weight gradient
};

// Of the layer, per token of a tensor-parallel group's micro-batch. `sequence`: of the whole sequence, for scores.
ActivationBytes activation_bytes(const LayerShape& layer, const Layout& layout, const MemoryHabits& habits,
                                 double sequence);

// An activation's bytes, and those of a product's input.
double activation_size(DataType compute);
double product_input_size(DataType compute);

}  // namespace trainyard::simulator
