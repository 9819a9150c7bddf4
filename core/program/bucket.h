// Bucket: parameters whose gradients are reduced, and under ZeRO updated, together.
//
// A bucket's gradients (and parameters) lie one tensor after the other in one buffer. ZeRO cuts that buffer
// over the data-parallel group at norm-block boundaries (norm_sum.h), so that no block of squares is ever
// summed by two ranks and the global norm has one value under any layout.
#pragma once

#include <cstdint>
#include <vector>

#include "core/layout/shard_spec.h"
#include "core/model/parameter.h"
#include "core/units/index.h"

namespace trainyard {

struct BucketParameter {
  Parameter parameter;  // global name and shape
  ShardSpec shard;      // how tp cuts it
  // Which slice of the whole it is depends on the rank: local_ranges(shard, mesh, coordinates).
  std::vector<std::int64_t> local_shape;
  std::int64_t offset = 0;         // elements into the bucket's buffer
  std::int64_t elements = 0;       // local
  bool tensor_replicated = false;  // same on every tp rank: only tp index 0 counts it in the norm
};

struct Bucket {
  BucketId id;
  bool experts = false;  // holds experts' parameters, which other ranks reduce than the dense ones'
  std::vector<BucketParameter> parameters;
  std::int64_t elements = 0;
  // Cut over the group that shards it (gradient_group.h) at norm blocks: index i owns [boundaries[i], boundaries[i+1]).
  // ZeRO's shards, the chunks of the gradient reduction, and each rank's share of the norm, with or without ZeRO.
  std::vector<std::int64_t> boundaries;
  BufferId parameters_buffer;
  BufferId gradients_buffer;
};

}  // namespace trainyard
