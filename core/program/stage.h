// Which part of the model a pipeline stage holds, and how its parameters fall into buckets.
#pragma once

#include <vector>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/program/bucket.h"

namespace trainyard {

// A run of layers on one stage: which one, by the schedule (model_chunk() of schedule.h).
struct Chunk {
  int number = 0;  // global: 0 .. model_chunks() - 1, in the order of the forward pass
  IndexRange layers;
  bool embeds = false;    // begins with the embedding
  bool has_head = false;  // ends with final norm, head and loss
};

// As layout.chunk_layers says; else layers are dealt out evenly in order, earlier chunks holding one less where they
// don't divide.
std::vector<Chunk> stage_chunks(const ModelSpec& model, const Layout& layout, int stage);

// Buckets in the order in which backward completes them: head and final norm, layers from the last, the
// embedding; neighbours share a bucket until it holds bucket_bytes. A layer is never split. Within a bucket
// parameters lie in the order of parameters(), so q,k,v are one matrix, and gate,up another. With ZeRO 2 and 3 a bucket
// keeps to one chunk, and with 3 a layer has buckets of its own, gathered for it. Experts are in buckets behind all
// others. Models other than Llama's have one flat parameter for each group of weights that completes together.
std::vector<Bucket> stage_buckets(const ModelSpec& model, const Layout& layout, const std::vector<Chunk>& chunks,
                                  int tensor_index);

// Cut points of a bucket over n ranks, at norm blocks of its tensors, as even as blocks allow: n+1 values.
std::vector<std::int64_t> block_boundaries(const Bucket& bucket, int n);

}  // namespace trainyard
