// CPU launchers of the transformer's elementwise kernels.

#include "executor/device/cpu_kernels.h"
#include "executor/device/tiles.h"
#include "executor/device/vector_clones.h"
#include "executor/kernel/embedding.h"
#include "executor/kernel/norm.h"
#include "executor/kernel/rope.h"
#include "executor/kernel/serial_group.h"
#include "executor/kernel/swiglu.h"

namespace trainyard::executor::cpu {

namespace {

constexpr SerialGroup kGroup;

// Columns that one tile of a sum over tokens owns: 1 KiB of a row, so that a row's part is a few cache lines.
constexpr std::int64_t kColumns = 256;

TRAINYARD_VECTOR_CLONES void add_range(const float* a, const float* b, float* out, std::int64_t elements) {
  kGroup.each(elements, [&](std::int64_t i) { out[i] = a[i] + b[i]; });
}

TRAINYARD_VECTOR_CLONES void norm_forward_rows(const float* residual, const float* branch, const float* weight,
                                               float* sum, float* normed, float* rstd, std::int64_t begin,
                                               std::int64_t end, std::int64_t h, float epsilon) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * h;
    rstd[row] = norm_forward_row(kGroup, residual + at, branch == nullptr ? nullptr : branch + at, weight,
                                 sum == nullptr ? nullptr : sum + at, normed + at, h, epsilon);
  }
}

TRAINYARD_VECTOR_CLONES void norm_backward_rows(const float* normed_grad, const float* residual, const float* rstd,
                                                const float* weight, const float* incoming, float* residual_grad,
                                                std::int64_t begin, std::int64_t end, std::int64_t h) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * h;
    norm_backward_row(kGroup, normed_grad + at, residual + at, rstd[row], weight,
                      incoming == nullptr ? nullptr : incoming + at, residual_grad + at, h);
  }
}

TRAINYARD_VECTOR_CLONES void norm_weight_columns(const float* normed_grad, const float* residual, const float* rstd,
                                                 float* weight_grad, std::int64_t t, std::int64_t h, std::int64_t begin,
                                                 std::int64_t end, bool accumulate) {
  const std::int64_t columns = end - begin;
  float sums[kColumns] = {};
  for (std::int64_t row = 0; row < t; ++row) {
    const float* grad = normed_grad + row * h + begin;
    const float* x = residual + row * h + begin;
    const float scale = rstd[row];
    kGroup.each(columns, [&](std::int64_t i) { sums[i] += grad[i] * x[i] * scale; });
  }
  float* to = weight_grad + begin;
  kGroup.each(columns, [&](std::int64_t i) { to[i] = accumulate ? to[i] + sums[i] : sums[i]; });
}

TRAINYARD_VECTOR_CLONES void embed_backward_columns(const std::int32_t* tokens, const float* out_grad,
                                                    float* table_grad, std::int64_t t, std::int64_t h,
                                                    std::int64_t first_row, std::int64_t rows, std::int64_t begin,
                                                    std::int64_t end) {
  for (std::int64_t i = 0; i < t; ++i) {
    const std::int64_t row = embedding_row(tokens[i], first_row, rows);
    if (row >= 0) {
      add_range(table_grad + row * h + begin, out_grad + i * h + begin, table_grad + row * h + begin, end - begin);
    }
  }
}

TRAINYARD_VECTOR_CLONES void rope_rows(const RopeShape& shape, float* qkv, float direction, std::int64_t begin,
                                       std::int64_t end) {
  const std::int64_t half = shape.head_size / 2;
  const std::int64_t width = (shape.query_heads + 2 * shape.key_heads) * shape.head_size;
  for (std::int64_t token = begin; token < end; ++token) {
    const std::int64_t position = token % shape.sequence;
    for (std::int64_t head = 0; head < shape.query_heads + shape.key_heads; ++head) {
      rope_head(kGroup, qkv + token * width + head * shape.head_size, shape.cosines + position * half,
                shape.sines + position * half, half, direction);
    }
  }
}

TRAINYARD_VECTOR_CLONES void swiglu_forward_rows(const float* gate_up, float* activated, std::int64_t begin,
                                                 std::int64_t end, std::int64_t f) {
  for (std::int64_t row = begin; row < end; ++row) {
    swiglu_forward_row(kGroup, gate_up + row * 2 * f, activated + row * f, f);
  }
}

TRAINYARD_VECTOR_CLONES void swiglu_backward_rows(const float* gate_up, const float* activated_grad,
                                                  float* gate_up_grad, std::int64_t begin, std::int64_t end,
                                                  std::int64_t f) {
  for (std::int64_t row = begin; row < end; ++row) {
    swiglu_backward_row(kGroup, gate_up + row * 2 * f, activated_grad + row * f, gate_up_grad + row * 2 * f, f);
  }
}

}  // namespace

void add(ThreadPool& pool, const float* a, const float* b, float* out, std::int64_t elements) {
  for_each_range(pool, elements, kTileElements, [&](std::int64_t begin, std::int64_t end) {
    add_range(a + begin, b + begin, out + begin, end - begin);
  });
}

void embed_forward(ThreadPool& pool, const std::int32_t* tokens, const float* table, float* out, std::int64_t t,
                   std::int64_t h, std::int64_t first_row, std::int64_t rows) {
  for_each_row_range(pool, t, h, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      embed_forward_row(kGroup, table, embedding_row(tokens[i], first_row, rows), out + i * h, h);
    }
  });
}

void embed_backward(ThreadPool& pool, const std::int32_t* tokens, const float* out_grad, float* table_grad,
                    std::int64_t t, std::int64_t h, std::int64_t first_row, std::int64_t rows) {
  // By columns: tokens that share a row of the table are then added by one thread, in their order.
  for_each_range(pool, h, kColumns, [&](std::int64_t begin, std::int64_t end) {
    embed_backward_columns(tokens, out_grad, table_grad, t, h, first_row, rows, begin, end);
  });
}

void norm_forward(ThreadPool& pool, const float* residual, const float* branch, const float* weight, float* sum,
                  float* normed, float* rstd, std::int64_t t, std::int64_t h, float epsilon) {
  for_each_row_range(pool, t, h, [&](std::int64_t begin, std::int64_t end) {
    norm_forward_rows(residual, branch, weight, sum, normed, rstd, begin, end, h, epsilon);
  });
}

void norm_backward(ThreadPool& pool, const float* normed_grad, const float* residual, const float* rstd,
                   const float* weight, const float* incoming, float* residual_grad, std::int64_t t, std::int64_t h) {
  for_each_row_range(pool, t, h, [&](std::int64_t begin, std::int64_t end) {
    norm_backward_rows(normed_grad, residual, rstd, weight, incoming, residual_grad, begin, end, h);
  });
}

void norm_weight_backward(ThreadPool& pool, const float* normed_grad, const float* residual, const float* rstd,
                          float* weight_grad, std::int64_t t, std::int64_t h, bool accumulate) {
  for_each_range(pool, h, kColumns, [&](std::int64_t begin, std::int64_t end) {
    norm_weight_columns(normed_grad, residual, rstd, weight_grad, t, h, begin, end, accumulate);
  });
}

void rope(ThreadPool& pool, const RopeShape& shape, float* qkv, float direction) {
  for_each_row_range(pool, shape.tokens, (shape.query_heads + shape.key_heads) * shape.head_size,
                     [&](std::int64_t begin, std::int64_t end) { rope_rows(shape, qkv, direction, begin, end); });
}

void swiglu_forward(ThreadPool& pool, const float* gate_up, float* activated, std::int64_t t, std::int64_t f) {
  for_each_row_range(pool, t, f, [&](std::int64_t begin, std::int64_t end) {
    swiglu_forward_rows(gate_up, activated, begin, end, f);
  });
}

void swiglu_backward(ThreadPool& pool, const float* gate_up, const float* activated_grad, float* gate_up_grad,
                     std::int64_t t, std::int64_t f) {
  for_each_row_range(pool, t, f, [&](std::int64_t begin, std::int64_t end) {
    swiglu_backward_rows(gate_up, activated_grad, gate_up_grad, begin, end, f);
  });
}

}  // namespace trainyard::executor::cpu
