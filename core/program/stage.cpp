#include "core/program/stage.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/layout/tensor_sharding.h"
#include "core/model/layer_shape.h"
#include "core/program/gradient_group.h"
#include "core/program/layer_sizes.h"
#include "core/program/norm_sum.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {

std::vector<Parameter> of_kinds(const std::vector<Parameter>& all, std::initializer_list<ParameterKind> kinds) {
  std::vector<Parameter> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [&](const Parameter& p) { return std::find(kinds.begin(), kinds.end(), p.kind) != kinds.end(); });
  return chosen;
}

// Parameters that become complete together.
struct Unit {
  std::vector<Parameter> parameters;  // shapes as the model has them, or this rank's own
  bool local = false;
  bool experts = false;
  int chunk = 0;       // local
  bool apart = false;  // in a bucket of its own
};

std::int64_t norm_size(Normalization normalization, std::int64_t hidden) {
  return normalization == Normalization::kLayer ? 2 * hidden : hidden;
}

Parameter flat(ParameterKind kind, std::optional<int> layer, std::int64_t elements) {
  return {kind, layer, std::string(to_string(kind)), {elements}};
}

void add_layer(std::vector<Unit>& units, const ModelSpec& model, const Layout& layout, const LayerShape& shape,
               int layer, int chunk) {
  if (is_llama_block(model) || is_gpt2_block(model)) {
    units.push_back({.parameters = layer_parameters(model, layer), .chunk = chunk});
    return;
  }
  const LayerWeights weights = layer_weights(shape, layout);
  Unit dense{.local = true, .chunk = chunk};
  const auto add = [&](ParameterKind kind, std::int64_t elements) {
    if (elements > 0) {
      dense.parameters.push_back(flat(kind, layer, elements));
    }
  };
  add(ParameterKind::kAttentionNorm, weights.attention_norm);
  add(ParameterKind::kQuery, weights.attention);
  add(ParameterKind::kOutput, weights.output);
  add(ParameterKind::kMlpNorm, weights.mlp_norm);
  add(ParameterKind::kGate, weights.feed_forward);
  add(ParameterKind::kRouter, weights.router);
  units.push_back(std::move(dense));
  if (weights.experts > 0) {
    units.push_back({.parameters = {flat(ParameterKind::kExpertDown, layer, weights.experts)},
                     .local = true,
                     .experts = true,
                     .chunk = chunk});
  }
}

// What is a multi-token block's own, behind the model's layers. Its norms have the names of what they follow: of the
// hidden state, of the embedding, of the block's layer.
void add_block(std::vector<Unit>& units, const ModelSpec& model, const Layout& layout, int layer, int chunk) {
  const MultiTokenShape block = model_shape(model).multi_token.value();
  const std::size_t dense = units.size();
  add_layer(units, model, layout, block.layer, layer, chunk);
  std::vector<Parameter>& parameters = units[dense].parameters;
  parameters.push_back(
      flat(ParameterKind::kMultiTokenProjection, layer, block.projection.parameters() / layout.tensor));
  for (const ParameterKind norm :
       {ParameterKind::kMultiTokenNorm, ParameterKind::kEmbeddingNorm, ParameterKind::kFinalNorm}) {
    parameters.push_back(flat(norm, layer, norm_size(block.layer.normalization, model.hidden)));
  }
}

// In the order of backward.
std::vector<Unit> units_of(const ModelSpec& model, const Layout& layout, const std::vector<Chunk>& chunks) {
  ModelSpec ends;  // without layers: what comes before and after them
  if (is_gpt2_block(model)) {
    ends = model;
    ends.layers = 0;
    ends.tied_embeddings = false;
  }
  ends.vocabulary = model.vocabulary;
  ends.hidden = model.hidden;
  const std::vector<Parameter> all = parameters(ends);
  // A table with a use at both ends, tied or embedding for multi-token blocks, serves them where one stage has them.
  // Otherwise the stage of the head holds a copy, and the two are in buckets of their own: cut alike, so that whoever
  // owns a part owns it of both. So is one whose ends are chunks of their own (ZB-V, DualPipe).
  const auto any = [&](bool Chunk::*end) {
    return std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) { return chunk.*end; });
  };
  const bool twice = model.tied_embeddings || model.multi_token_layers > 0;
  const bool copies = twice && any(&Chunk::embeds) != any(&Chunk::has_head);
  const bool of_two_chunks = twice && !copies && chunks.size() > 1;
  std::vector<Unit> result;
  // From the end of the model: the order of backward, and the same on two stages that hold the same chunks.
  std::vector<std::size_t> order(chunks.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return chunks[x].number > chunks[y].number; });
  for (const std::size_t index : order) {
    const Chunk* chunk = &chunks[index];
    const auto local = static_cast<int>(index);
    if (chunk->has_head) {
      for (std::int64_t block = model.multi_token_layers - 1; block >= 0; --block) {
        add_block(result, model, layout, static_cast<int>(model.layers + block), local);
      }
      std::vector<Parameter> last = of_kinds(all, {ParameterKind::kFinalNorm});
      if (!model.tied_embeddings) {
        last = of_kinds(all, {ParameterKind::kFinalNorm, ParameterKind::kHead});
      }
      result.push_back({.parameters = std::move(last), .chunk = local});
      if (copies) {
        result.push_back({.parameters = of_kinds(all, {ParameterKind::kEmbedding}), .chunk = local, .apart = true});
      }
    }
    for (std::int64_t layer = chunk->layers.end - 1; layer >= chunk->layers.begin; --layer) {
      add_layer(result, model, layout, layer_shape(model, layer), static_cast<int>(layer), local);
    }
    if (chunk->embeds && (copies || of_two_chunks)) {
      result.push_back({.parameters = of_kinds(all, {ParameterKind::kEmbedding}), .chunk = local, .apart = true});
      if (std::vector<Parameter> positions = of_kinds(all, {ParameterKind::kPositionEmbedding}); !positions.empty()) {
        result.push_back({.parameters = std::move(positions), .chunk = local});
      }
    } else if (chunk->embeds) {
      result.push_back({.parameters = of_kinds(all, {ParameterKind::kEmbedding, ParameterKind::kPositionEmbedding}),
                        .chunk = local});
    }
  }
  return result;
}

void append(Bucket& bucket, const ModelSpec& model, const Layout& layout, Parameter parameter, bool local,
            int tensor_index) {
  BucketParameter placed;
  placed.shard = local ? ShardSpec{parameter.shape, {}} : tensor_sharding(model, parameter);
  const bool norm = parameter.kind == ParameterKind::kAttentionNorm || parameter.kind == ParameterKind::kMlpNorm ||
                    parameter.kind == ParameterKind::kMultiTokenNorm ||
                    parameter.kind == ParameterKind::kEmbeddingNorm || parameter.kind == ParameterKind::kFinalNorm;
  placed.tensor_replicated = local ? norm : placed.shard.replicated_over(Axis::kTensor);
  placed.local_shape = parameter.shape;
  if (const AxisPlacement* cut = placed.shard.on(Axis::kTensor); cut != nullptr && cut->dimension) {
    auto& size = placed.local_shape[static_cast<std::size_t>(*cut->dimension)];
    size = even_range(size, layout.tensor, tensor_index, cut->unit).size();
  }
  placed.elements = 1;
  for (std::int64_t size : placed.local_shape) {
    placed.elements *= size;
  }
  placed.offset = bucket.elements;
  bucket.elements += placed.elements;
  placed.parameter = std::move(parameter);
  bucket.parameters.push_back(std::move(placed));
}

}  // namespace

std::vector<Chunk> stage_chunks(const ModelSpec& model, const Layout& layout, int stage) {
  const int total = model_chunks(layout.schedule, layout.pipeline, layout.chunks_per_stage);
  std::vector<Chunk> chunks;
  for (int local = 0; local < layout.chunks_per_stage; ++local) {
    const int number = model_chunk(layout.schedule, layout.pipeline, {stage, local});
    IndexRange layers = even_range(model.layers, total, number);
    if (!layout.chunk_layers.empty()) {
      check(layout.chunk_layers.size() == static_cast<std::size_t>(total), "layers of every chunk are given");
      layers.begin =
          std::accumulate(layout.chunk_layers.begin(), layout.chunk_layers.begin() + number, std::int64_t{0});
      layers.end = layers.begin + layout.chunk_layers[static_cast<std::size_t>(number)];
    }
    chunks.push_back({.number = number, .layers = layers, .embeds = number == 0, .has_head = number == total - 1});
  }
  return chunks;
}

std::vector<Bucket> stage_buckets(const ModelSpec& model, const Layout& layout, const std::vector<Chunk>& chunks,
                                  int tensor_index) {
  std::vector<Bucket> buckets;
  const std::int64_t element_bytes = size_of(layout.gradient_type);
  const bool keeps_to_chunk = layout.zero_stage == 2 || layout.schedule == ScheduleKind::kDualPipe;
  std::vector<Unit> units = units_of(model, layout, chunks);
  for (const bool experts : {false, true}) {
    int chunk = -1;
    bool after_apart = false;
    for (Unit& unit : units) {
      if (unit.experts != experts) {
        continue;
      }
      const bool apart = layout.zero_stage == 3 || (keeps_to_chunk && unit.chunk != chunk) || unit.apart || after_apart;
      after_apart = unit.apart;
      if (chunk < 0 || apart || buckets.back().elements * element_bytes >= layout.bucket_bytes.value()) {
        buckets.push_back({.id = BucketId(static_cast<std::int64_t>(buckets.size())), .experts = experts});
      }
      chunk = unit.chunk;
      for (Parameter& parameter : unit.parameters) {
        append(buckets.back(), model, layout, std::move(parameter), unit.local, tensor_index);
      }
    }
  }
  for (Bucket& bucket : buckets) {
    bucket.boundaries = block_boundaries(bucket, shard_ranks(layout, bucket));
  }
  return buckets;
}

std::vector<std::int64_t> block_boundaries(const Bucket& bucket, int n) {
  // first_block[i]: blocks before parameter i. A block belongs to one tensor; the last of a tensor is short.
  std::vector<std::int64_t> first_block{0};
  for (const BucketParameter& placed : bucket.parameters) {
    first_block.push_back(first_block.back() + (placed.elements + kNormBlock - 1) / kNormBlock);
  }
  std::vector<std::int64_t> boundaries{0};
  for (int i = 1; i < n; ++i) {
    const std::int64_t block = even_range(first_block.back(), n, i).begin;
    const auto next = std::upper_bound(first_block.begin(), first_block.end(), block);
    const auto index = static_cast<std::size_t>(std::distance(first_block.begin(), next)) - 1;
    if (index >= bucket.parameters.size()) {
      boundaries.push_back(bucket.elements);
      continue;
    }
    const BucketParameter& placed = bucket.parameters[index];
    boundaries.push_back(placed.offset + std::min((block - first_block[index]) * kNormBlock, placed.elements));
  }
  boundaries.push_back(bucket.elements);
  return boundaries;
}

}  // namespace trainyard
