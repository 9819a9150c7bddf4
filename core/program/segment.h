// Segment: the longest compute between two communications, shared by all equal layers.
//
// A transformer layer under tensor parallelism communicates at two conjugate points, called f and g by
// Megatron-LM (Shoeybi et al. 2019, section 3): f before the column-parallel product (identity forward,
// all-reduce backward) and g after the row-parallel one (all-reduce forward, identity backward). With
// sequence parallelism f and g become all-gather and reduce-scatter (Korthikanti et al. 2022, section 4.2).
// Cutting at both gives, per layer:
//
//   norm | f | attention | g | norm | f | mlp | g
//
// and at the ends: embedding | g ... norm | f | head | statistics gathered | loss. A chunk that does not
// end in the head ends in `residual`, which adds the last mlp's output to the residual stream and is sent.
// There is no communication inside a segment.
//
// Context parallelism cuts attention at what passes between its ranks: queries, keys, values | scores of a hop | ... |
// projection. A mixture of experts cuts the mlp: router | dispatch | experts | combine, shared experts being an mlp.
//
// Attention and mlp side by side (GPT-J, Falcon) have one g: the mlp's last product adds to what attention has made,
// and the sum is reduced. Behind one norm they have one f too: backward, attention's last product adds to the mlp's
// gradient of the norm's output; norms of their own are reduced one by one.
//
//   norm | f | attention | mlp | g
//
// A multi-token block (DeepSeek-V3, section 2.2) goes before a layer and a head, behind the last layer:
//
//   embedding | g ... norm of the hidden state | norm of the embedding | f | merge | gathered columns | (merge)
//
// the second merge taking a rank's tokens out of all, with sequence parallelism.
//
// Each segment has up to three passes; backward is split because zero-bubble schedules move the two halves
// apart. The operations of each pass are those that the executor performs, in order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/program/operation.h"

namespace trainyard {

enum class SegmentKind : std::uint8_t {
  kEmbedding,  // tokens -> partial embedding (vocabulary rows of this rank)
  kNorm,       // residual += branch; normed = RMSNorm(residual)
  kAttention,  // q,k,v products, rope, attention, output product (partial over tp)
  kMlp,        // gate and up products, SwiGLU, down product (partial over tp)
  kResidual,   // residual + branch, at the end of a chunk
  kHead,       // logits over this rank's vocabulary slice, and row statistics
  kLoss,       // from all ranks' statistics: loss sum, logits' gradient
  // Attention over context-parallel ranks.
  kQueryKeyValue,  // products of queries, keys, values; positions
  kScores,         // attention of this rank's queries with one block of keys and values
  kProjection,     // output product (partial over tp)
  // A mixture of experts.
  kRouter,   // which experts each token visits; tokens in order of their experts
  kExperts,  // feed-forwards of this rank's experts, side by side
  kCombine,  // a token's experts weighted and added, shared ones too
  // Multi-token prediction.
  kMerge,  // hidden state and next token's embedding side by side -> hidden state (columns of this rank over tp)
};
constexpr int kSegmentKinds = static_cast<int>(SegmentKind::kMerge) + 1;

std::string_view to_string(SegmentKind kind);

enum class Pass : std::uint8_t { kForward, kBackwardInput, kBackwardWeight };

struct Segment {
  SegmentKind kind = SegmentKind::kNorm;
  bool adds_branch = false;  // kNorm: whether there is a branch output to add
  std::vector<Operation> forward;
  std::vector<Operation> backward_input;
  std::vector<Operation> backward_weight;  // as with accumulation off; on, the Gemms read C too

  const std::vector<Operation>& operations(Pass pass) const {
    switch (pass) {
      case Pass::kForward:
        return forward;
      case Pass::kBackwardInput:
        return backward_input;
      case Pass::kBackwardWeight:
        return backward_weight;
    }
    return forward;
  }
};

FlopCount flops(const std::vector<Operation>& operations);

}  // namespace trainyard
