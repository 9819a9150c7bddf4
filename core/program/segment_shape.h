// SegmentShape: the sizes on one rank that decide a segment's operations, and the segments made from them.
#pragma once

#include <cstdint>

#include "core/layout/layout.h"
#include "core/layout/tensor_sharding.h"
#include "core/model/model_spec.h"
#include "core/program/layer_sizes.h"
#include "core/program/segment.h"

namespace trainyard {

// Query rows that attention takes at once. Fixed, so that its FLOPs and its bits don't depend on threads.
constexpr std::int64_t kAttentionQueryTile = 64;

// What all layers of a stage share.
struct SegmentShape {
  std::int64_t sequences = 1;       // of the micro-batch
  std::int64_t sequence = 0;        // tokens each, on this rank
  std::int64_t whole_sequence = 0;  // over context-parallel ranks
  std::int64_t tokens = 0;          // sequences * sequence
  std::int64_t norm_tokens = 0;     // tokens, or this rank's share of them under sequence parallelism
  std::int64_t hidden = 0;
  std::int64_t heads = 0;  // on this rank
  std::int64_t key_value_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;  // rows on this rank
  std::int64_t tensor_size = 1;
  std::int64_t context_size = 1;
  ContextKind context_kind = ContextKind::kRing;
  DataType type = DataType::kFp32;
  bool inputs_first = false;  // weights of a layer's products are stored [inputs, outputs] (GPT-2), not turned round
  bool learned_positions = false;  // a table of them is added to the embedding
  // Attention and feed-forward side by side: the second of them adds to what the first has made, of their outputs and,
  // behind one norm, of the gradients of their input.
  bool adds_outputs = false;
  bool adds_input_gradients = false;

  std::int64_t qkv_width() const { return (heads + 2 * key_value_heads) * head_size; }
  std::int64_t attention_width() const { return heads * head_size; }
};

SegmentShape segment_shape(const ModelSpec& model, const Layout& layout, std::int64_t sequence,
                           const LocalShape& local);

// Embedding, norm, residual, head, loss, merge. adds_branch: kNorm only. ends_stream: kNorm only, one that gets no
// gradient of the residual stream from behind: the final norm, those before a merge.
Segment make_segment(SegmentKind kind, const SegmentShape& shape, bool adds_branch = false, bool ends_stream = false);
// kMerge: this rank's tokens out of all that the product has made, with sequence parallelism.
Segment make_merge_share(const SegmentShape& shape);

// Attention, mlp, and what they are cut into: of one kind of layer. first_block: kScores only, the block that holds the
// queries' own keys; the others are whole.
Segment make_layer_segment(SegmentKind kind, const SegmentShape& shape, const LayerSizes& layer,
                           bool first_block = true);

}  // namespace trainyard
