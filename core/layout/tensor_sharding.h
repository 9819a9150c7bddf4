// How tensor parallelism cuts each parameter of a model (Megatron-LM, Shoeybi et al. 2019, section 3):
// query, key, value by heads and gate, up by rows (column-parallel); output and down by columns
// (row-parallel); embedding and head by vocabulary rows, unevenly where the vocabulary does not divide;
// norms, learned positions, latents and routers replicated. A matrix that a file stores as one of several (query, key
// and value; gate and up) is cut as if its rows came head by head (queries of a key head, its key, its value), or a
// row of each in turn: the sizes of the slices are right, and whoever reads or writes such a file puts rows in order.
// Experts are cut over expert-tensor ranks; which expert-parallel rank has one that is stored by itself, its index
// says.
#pragma once

#include "core/layout/shard_spec.h"
#include "core/model/model_spec.h"
#include "core/model/parameter.h"

namespace trainyard {

ShardSpec tensor_sharding(const ModelSpec& model, const Parameter& parameter);

// This tp rank's share of the network: sizes of its local products.
struct LocalShape {
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;
  std::int64_t feed_forward = 0;
  IndexRange vocabulary;
};
// Requires key_value_heads % tp == 0; feed_forward and vocabulary may be uneven.
LocalShape local_shape(const ModelSpec& model, int tensor_size, int tensor_index);

}  // namespace trainyard
