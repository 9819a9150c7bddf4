#include "executor/transformer/embedding.h"

namespace trainyard::executor {

void embedding_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues table,
                       const std::int32_t* tokens, Values residual) {
  device.embed_forward(stream, tokens, table, residual, shape.tokens, shape.hidden, shape.vocabulary.begin,
                       shape.vocabulary.size());
}

void embedding_backward_weight(Device& device, Stream stream, const BlockShape& shape, const std::int32_t* tokens,
                               ConstValues residual_grad, Values table_grad, bool accumulate) {
  if (!accumulate) {
    const std::int64_t elements = shape.vocabulary.size() * shape.hidden;
    device.zero(stream, table_grad.data, ByteCount(elements * size_of(table_grad.type)));
  }
  device.embed_backward(stream, tokens, residual_grad, table_grad, shape.tokens, shape.hidden, shape.vocabulary.begin,
                        shape.vocabulary.size());
}

void position_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues positions, Values residual) {
  device.position_forward(stream, positions, residual, shape.tokens, shape.hidden, shape.sequence);
}

void position_backward_weight(Device& device, Stream stream, const BlockShape& shape, ConstValues residual_grad,
                              Values positions_grad, std::int64_t rows, bool accumulate) {
  if (!accumulate) {  // a reduction may have left anything in rows that are not used
    device.zero(stream, positions_grad.data, ByteCount(rows * shape.hidden * size_of(positions_grad.type)));
  }
  device.position_backward(stream, residual_grad, positions_grad, shape.tokens, shape.hidden, shape.sequence, true);
}

}  // namespace trainyard::executor
