// LayerGenerator: the instructions of one transformer layer, forward and backward, around f and g.
//
//   plain        norm | f | attention | g | norm | f | mlp | g
//   context      ... f | queries, keys, values | scores and blocks of other ranks in turn | projection | g ...
//   beside       norm | f | attention | mlp | g, or a norm and an f each (segment.h)
//   experts      ... norm | router | dispatch | experts | combine, with shared ones as an mlp beside
//
// Context parallelism: a ring sends each block of keys and values to the next rank while scores of the last one are
// made (Liu et al. 2023); backward begins with the block that forward ended on, so that a block's gradient, one hop
// behind it, is home before the rank's own scores are done (Transformer Engine, context_parallel.py); all-gather
// fetches all blocks first, and scatters their gradients (Llama 3, section 3.3.2); Ulysses exchanges tokens for heads,
// and back (Jacobs et al. 2023).
#pragma once

#include <optional>
#include <vector>

#include "core/program/stage_context.h"
#include "core/program/weight_passes.h"

namespace trainyard {

// What forward leaves for the backward of one layer.
struct LayerStash {
  BufferId residual;  // input of the attention norm
  BufferId attention_normed, attention_rstd, qkv, attention, log_sum_exp;
  std::optional<BufferId> last_block;  // of a ring: the keys and values that forward ended on
  BufferId mlp_residual, mlp_normed, mlp_rstd;
  std::optional<BufferId> gate_up, activated;  // dense or shared
  std::optional<BufferId> routing, routed, expert_gate_up, expert_activated, expert_output;
};

class LayerGenerator {
 public:
  LayerGenerator(StageContext& stage, WeightPasses& weights) : stage_(stage), weights_(weights) {}

  // Buckets that a layer's passes use.
  std::vector<const Bucket*> buckets(std::int64_t layer) const;

  // residual += branch, normed. Returns the residual that the norm's backward will need.
  BufferId forward_norm(InstructionKind kind, const Place& place, ParameterKind weight, BufferId residual,
                        std::optional<BufferId> branch, SegmentId with_branch, BufferId& normed, BufferId& rstd);
  // Returns the mlp's output, to be added by whatever norm comes next.
  BufferId forward(InstructionKind kind, const Place& place, BufferId residual, std::optional<BufferId> branch,
                   LayerStash& kept);
  // gradient: of the residual stream behind the layer. Returns that before it: the same buffer, or a fresh one where
  // weight gradients still need it. starts_chunk: the attention norm adds no branch.
  BufferId backward(const Place& place, BufferId gradient, const LayerStash& kept, bool starts_chunk);

 private:
  const LayerSegments& of(const Place& place) const { return stage_.segments.layer(*place.layer); }
  // Attention and feed-forward side by side.
  BufferId forward_beside(InstructionKind kind, const Place& place, BufferId residual, std::optional<BufferId> branch,
                          LayerStash& kept);
  BufferId backward_beside(const Place& place, BufferId gradient, const LayerStash& kept, SegmentId first);
  // Of all tokens: a norm's output; the gradient of a branch's output.
  BufferId norm_output(const Place& place, BufferId normed);
  BufferId output_gradient(const Place& place, BufferId gradient);
  BufferId reduce_gradient(const Place& place, BufferId normed_grad);
  // Outputs, and gradients of inputs, are partial sums still.
  BufferId forward_attention(InstructionKind kind, const Place& place, BufferId input, LayerStash& kept);
  void forward_products(InstructionKind kind, const Place& place, BufferId input, BufferId out, LayerStash& kept);
  BufferId backward_products(const Place& place, BufferId out_grad, const LayerStash& kept);
  // sum: what to add the gradient of the input to.
  BufferId backward_attention(const Place& place, BufferId out_grad, std::optional<BufferId> sum,
                              const LayerStash& kept);
  BufferId backward_attention_pieces(const Place& place, BufferId out_grad, std::optional<BufferId> sum,
                                     const LayerStash& kept);
  BufferId input_gradient(std::optional<BufferId> sum, std::vector<BufferId>& reads);
  // Complete.
  void forward_scores(InstructionKind kind, const Place& place, LayerStash& kept);
  BufferId forward_mlp(InstructionKind kind, const Place& place, LayerStash& kept);
  BufferId forward_experts(InstructionKind kind, const Place& place, LayerStash& kept);
  // The gradient of this rank's own block where it comes home last.
  std::optional<BufferId> backward_scores(const Place& place, BufferId attention_grad, BufferId qkv_grad,
                                          const LayerStash& kept);
  BufferId backward_mlp(const Place& place, BufferId gradient, const LayerStash& kept);
  BufferId backward_experts(const Place& place, BufferId gradient, const LayerStash& kept);
  BufferId backward_norm(const Place& place, ParameterKind weight, SegmentId segment, BufferId normed_grad,
                         BufferId residual, BufferId rstd, BufferId gradient);
  // Experts' tokens to the ranks that hold their experts, or back.
  BufferId send_to_experts(const Place& place, BufferId from, BufferContent content);
  BufferId send_to_tokens(const Place& place, BufferId from, BufferContent content);
  Communication exchange(const LocalExperts& sizes) const;
  // A block of keys and values to the next context-parallel rank; what arrives.
  BufferId pass_block(const Place& place, std::vector<BufferId> from, BufferContent content, std::int64_t elements);

  StageContext& stage_;
  WeightPasses& weights_;
};

}  // namespace trainyard
