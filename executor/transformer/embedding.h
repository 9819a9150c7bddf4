// Embedding segment: tokens [t] -> residual [t, h], the sum over tensor-parallel ranks being the embedding.
// Rows of the table outside this rank's vocabulary contribute zero.
#pragma once

#include "executor/device/device.h"
#include "executor/transformer/block_shape.h"

namespace trainyard::executor {

// Learned positions, added to a whole embedding. positions [rows, h], of which the first `sequence` are used.
void position_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues positions, Values residual);
// positions_grad (+)= ; rows that no token has get zero.
void position_backward_weight(Device& device, Stream stream, const BlockShape& shape, ConstValues residual_grad,
                              Values positions_grad, std::int64_t rows, bool accumulate);

// table [v, h]
void embedding_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues table,
                       const std::int32_t* tokens, Values residual);

// table_grad [v, h] (+)= ; residual_grad [t, h]
void embedding_backward_weight(Device& device, Stream stream, const BlockShape& shape, const std::int32_t* tokens,
                               ConstValues residual_grad, Values table_grad, bool accumulate);

}  // namespace trainyard::executor
