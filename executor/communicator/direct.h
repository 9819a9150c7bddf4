// Direct exchange: every member sends straight to every other, in one step.
//
// Sums are taken in the order of the members' indices, whatever arrives first, so that they have the bits
// of a loop over the members: the strict mode. Volumes: core/program/wire.h.
#pragma once

#include "executor/communicator/chunked_tensor.h"
#include "executor/communicator/exchange.h"

namespace trainyard::executor {

void direct_reduce_scatter(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op);
void direct_all_gather(Exchange& exchange, const ChunkedTensor& tensor);
// Chunks do not matter: everybody's whole tensor goes to everybody.
void direct_all_reduce(Exchange& exchange, const ChunkedTensor& tensor, ReduceOp op);
// From index 0.
void direct_broadcast(Exchange& exchange, const ChunkedTensor& tensor);
// Chunk j of `in` to member j; chunk j of `out` from member j. in is not written.
void direct_all_to_all(Exchange& exchange, const ChunkedTensor& in, const ChunkedTensor& out);

}  // namespace trainyard::executor
