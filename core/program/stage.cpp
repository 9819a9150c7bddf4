#include "core/program/stage.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/layout/tensor_sharding.h"
#include "core/program/norm_sum.h"

namespace trainyard {

namespace {

std::vector<Parameter> of_kinds(const std::vector<Parameter>& all, std::initializer_list<ParameterKind> kinds) {
  std::vector<Parameter> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [&](const Parameter& p) { return std::find(kinds.begin(), kinds.end(), p.kind) != kinds.end(); });
  return chosen;
}

// Groups of parameters that become complete together, in the order of backward.
std::vector<std::vector<Parameter>> units(const ModelSpec& model, const std::vector<Chunk>& chunks) {
  ModelSpec ends = model;  // without layers: what comes before and after them
  ends.layers = 0;
  const std::vector<Parameter> all = parameters(ends);
  std::vector<std::vector<Parameter>> result;
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
    if (chunk->has_head) {
      result.push_back(of_kinds(all, {ParameterKind::kFinalNorm, ParameterKind::kHead}));
    }
    for (std::int64_t layer = chunk->layers.end - 1; layer >= chunk->layers.begin; --layer) {
      result.push_back(layer_parameters(model, static_cast<int>(layer)));
    }
    if (chunk->embeds) {
      result.push_back(of_kinds(all, {ParameterKind::kEmbedding}));
    }
  }
  return result;
}

void append(Bucket& bucket, const ModelSpec& model, const Layout& layout, Parameter parameter, int tensor_index) {
  BucketParameter placed;
  placed.shard = tensor_sharding(model, parameter);
  placed.tensor_replicated = placed.shard.replicated_over(Axis::kTensor);
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
  const int total = layout.pipeline * layout.chunks_per_stage;
  std::vector<Chunk> chunks;
  for (int local = 0; local < layout.chunks_per_stage; ++local) {
    const int number = local * layout.pipeline + stage;
    chunks.push_back({.number = number,
                      .layers = even_range(model.layers, total, number),
                      .embeds = number == 0,
                      .has_head = number == total - 1});
  }
  return chunks;
}

std::vector<Bucket> stage_buckets(const ModelSpec& model, const Layout& layout, const std::vector<Chunk>& chunks,
                                  int tensor_index) {
  std::vector<Bucket> buckets;
  const std::int64_t element_bytes = size_of(layout.gradient_type);
  for (auto& unit : units(model, chunks)) {
    if (buckets.empty() || buckets.back().elements * element_bytes >= layout.bucket_bytes.value()) {
      buckets.push_back({.id = BucketId(static_cast<std::int64_t>(buckets.size()))});
    }
    for (Parameter& parameter : unit) {
      append(buckets.back(), model, layout, std::move(parameter), tensor_index);
    }
  }
  for (Bucket& bucket : buckets) {
    bucket.boundaries = block_boundaries(bucket, layout.data);
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
