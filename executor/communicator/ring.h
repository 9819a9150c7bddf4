// Ring reduce-scatter, all-gather and all-reduce, in place.
//
// Over 2(n-1) steps, member r sends chunk (r - 1 - s) mod n to its successor and receives chunk
// (r - 2 - s) mod n from its predecessor. In steps s < n - 1 what arrives is added to the member's own
// chunk, so that after them chunk r holds the sum (reduce-scatter); in the later steps it replaces it
// (all-gather). An all-reduce is both (Patarasuk and Yuan 2009). Chunk c is summed from member c+1 round to
// member c, on one path, so that all members end with the same bits.
//
// A slice that has arrived and been added is sent on at once; a few receives are posted ahead.
#pragma once

#include "executor/communicator/chunked_tensor.h"
#include "executor/communicator/exchange.h"

namespace trainyard::executor {

void ring_reduce_scatter(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op);
void ring_all_gather(Exchange& exchange, const ChunkedTensor& tensor);
void ring_all_reduce(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op);

}  // namespace trainyard::executor
