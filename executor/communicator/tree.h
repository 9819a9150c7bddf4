// Binomial tree, rooted at index 0 (core/program/wire.h): about log2 n steps each way, for small payloads.
//
// all-reduce: each member adds its children's tensors to its own, nearest child first, and passes the sum
// to its parent; the root's sum travels back down. Slices follow each other through the tree.
#pragma once

#include "executor/communicator/chunked_tensor.h"
#include "executor/communicator/exchange.h"

namespace trainyard::executor {

// Chunks do not matter. In place.
void tree_all_reduce(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op);
void tree_broadcast(Exchange& exchange, const ChunkedTensor& tensor);

}  // namespace trainyard::executor
