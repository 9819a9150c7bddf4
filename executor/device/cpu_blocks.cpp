// CPU launchers of the transformer's elementwise kernels.

#include "executor/device/cpu_kernels.h"
#include "executor/device/element_type.h"
#include "executor/device/tiles.h"
#include "executor/device/vector_clones.h"
#include "executor/kernel/embedding.h"
#include "executor/kernel/gelu.h"
#include "executor/kernel/rope.h"
#include "executor/kernel/serial_group.h"
#include "executor/kernel/swiglu.h"

namespace trainyard::executor::cpu {

namespace {

constexpr SerialGroup kGroup;

template <class A, class B, class Out>
TRAINYARD_VECTOR_CLONES void add_range(const A* a, const B* b, Out* out, std::int64_t elements) {
  kGroup.each(elements, [&](std::int64_t i) { store(out + i, load(a + i) + load(b + i)); });
}

// Rows first_row, first_row + 1, ... of `out` get rows of `table`, which repeat after `period`.
template <class T>
TRAINYARD_VECTOR_CLONES void add_repeated_rows(const T* table, T* out, std::int64_t width, std::int64_t period,
                                               std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* from = table + row % period * width;
    T* to = out + row * width;
    kGroup.each(width, [&](std::int64_t i) { store(to + i, load(to + i) + load(from + i)); });
  }
}

// to[p, begin..end) (+)= the sum of those rows of `grad` whose number is p modulo period.
template <class T, class G>
TRAINYARD_VECTOR_CLONES void sum_repeated_rows(const T* grad, G* to, std::int64_t rows, std::int64_t width,
                                               std::int64_t period, std::int64_t begin, std::int64_t end,
                                               bool accumulate) {
  const std::int64_t columns = end - begin;
  for (std::int64_t place = 0; place < period; ++place) {
    float sums[kTileColumns] = {};
    for (std::int64_t row = place; row < rows; row += period) {
      const T* from = grad + row * width + begin;
      kGroup.each(columns, [&](std::int64_t i) { sums[i] += load(from + i); });
    }
    G* sum = to + place * width + begin;
    kGroup.each(columns, [&](std::int64_t i) { store(sum + i, accumulate ? load(sum + i) + sums[i] : sums[i]); });
  }
}

template <class T>
TRAINYARD_VECTOR_CLONES void embed_forward_rows(const std::int32_t* tokens, const T* table, T* out, std::int64_t h,
                                                std::int64_t first_row, std::int64_t rows, std::int64_t begin,
                                                std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    embed_forward_row(kGroup, table, embedding_row(tokens[i], first_row, rows), out + i * h, h);
  }
}

template <class T, class G>
void embed_backward_columns(const std::int32_t* tokens, const T* out_grad, G* table_grad, std::int64_t t,
                            std::int64_t h, std::int64_t first_row, std::int64_t rows, std::int64_t begin,
                            std::int64_t end) {
  for (std::int64_t i = 0; i < t; ++i) {
    const std::int64_t row = embedding_row(tokens[i], first_row, rows);
    if (row >= 0) {
      G* to = table_grad + row * h + begin;
      add_range(to, out_grad + i * h + begin, to, end - begin);
    }
  }
}

template <class T>
TRAINYARD_VECTOR_CLONES void rope_rows(const RopeShape& shape, T* qkv, float direction, std::int64_t begin,
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

template <class T>
TRAINYARD_VECTOR_CLONES void swiglu_forward_rows(const T* gate_up, T* activated, std::int64_t begin, std::int64_t end,
                                                 std::int64_t f) {
  for (std::int64_t row = begin; row < end; ++row) {
    swiglu_forward_row(kGroup, gate_up + row * 2 * f, activated + row * f, f);
  }
}

template <class T>
TRAINYARD_VECTOR_CLONES void swiglu_backward_rows(const T* gate_up, const T* activated_grad, T* gate_up_grad,
                                                  std::int64_t begin, std::int64_t end, std::int64_t f) {
  for (std::int64_t row = begin; row < end; ++row) {
    swiglu_backward_row(kGroup, gate_up + row * 2 * f, activated_grad + row * f, gate_up_grad + row * 2 * f, f);
  }
}

template <class T>
TRAINYARD_VECTOR_CLONES void gelu_forward_range(const T* in, T* activated, std::int64_t begin, std::int64_t end) {
  kGroup.each(end - begin, [&](std::int64_t i) { store(activated + begin + i, gelu(load(in + begin + i))); });
}

template <class T>
TRAINYARD_VECTOR_CLONES void gelu_backward_range(const T* in, const T* activated_grad, T* in_grad, std::int64_t begin,
                                                 std::int64_t end) {
  kGroup.each(end - begin, [&](std::int64_t i) {
    store(in_grad + begin + i, load(activated_grad + begin + i) * gelu_slope(load(in + begin + i)));
  });
}

}  // namespace

void add(ThreadPool& pool, ConstValues a, ConstValues b, Values out, std::int64_t elements) {
  with_element_type(common_type({a, b, out}), [&]<class T>(T) {
    for_each_range(pool, elements, kTileElements, [&](std::int64_t begin, std::int64_t end) {
      add_range(a.as<T>() + begin, b.as<T>() + begin, out.as<T>() + begin, end - begin);
    });
  });
}

void add_bias(ThreadPool& pool, ConstValues bias, Values values, std::int64_t t, std::int64_t n) {
  position_forward(pool, bias, values, t, n, 1);
}

void bias_backward(ThreadPool& pool, ConstValues grad, Values bias_grad, std::int64_t t, std::int64_t n,
                   bool accumulate) {
  position_backward(pool, grad, bias_grad, t, n, 1, accumulate);
}

void embed_forward(ThreadPool& pool, const std::int32_t* tokens, ConstValues table, Values out, std::int64_t t,
                   std::int64_t h, std::int64_t first_row, std::int64_t rows) {
  with_element_type(common_type({table, out}), [&]<class T>(T) {
    for_each_row_range(pool, t, h, [&](std::int64_t begin, std::int64_t end) {
      embed_forward_rows(tokens, table.as<T>(), out.as<T>(), h, first_row, rows, begin, end);
    });
  });
}

void embed_backward(ThreadPool& pool, const std::int32_t* tokens, ConstValues out_grad, Values table_grad,
                    std::int64_t t, std::int64_t h, std::int64_t first_row, std::int64_t rows) {
  with_gradient_type(out_grad.type, table_grad.type, [&]<class T, class G>(T, G) {
    // By columns: tokens that share a row of the table are then added by one thread, in their order.
    for_each_range(pool, h, kTileColumns, [&](std::int64_t begin, std::int64_t end) {
      embed_backward_columns(tokens, out_grad.as<T>(), table_grad.as<G>(), t, h, first_row, rows, begin, end);
    });
  });
}

void position_forward(ThreadPool& pool, ConstValues positions, Values out, std::int64_t t, std::int64_t h,
                      std::int64_t sequence) {
  with_element_type(common_type({positions, out}), [&]<class T>(T) {
    for_each_row_range(pool, t, h, [&](std::int64_t begin, std::int64_t end) {
      add_repeated_rows(positions.as<T>(), out.as<T>(), h, sequence, begin, end);
    });
  });
}

void position_backward(ThreadPool& pool, ConstValues out_grad, Values positions_grad, std::int64_t t, std::int64_t h,
                       std::int64_t sequence, bool accumulate) {
  with_gradient_type(out_grad.type, positions_grad.type, [&]<class T, class G>(T, G) {
    for_each_range(pool, h, kTileColumns, [&](std::int64_t begin, std::int64_t end) {
      sum_repeated_rows(out_grad.as<T>(), positions_grad.as<G>(), t, h, sequence, begin, end, accumulate);
    });
  });
}

void rope(ThreadPool& pool, const RopeShape& shape, Values qkv, float direction) {
  with_element_type(qkv.type, [&]<class T>(T) {
    for_each_row_range(
        pool, shape.tokens, (shape.query_heads + shape.key_heads) * shape.head_size,
        [&](std::int64_t begin, std::int64_t end) { rope_rows(shape, qkv.as<T>(), direction, begin, end); });
  });
}

void swiglu_forward(ThreadPool& pool, ConstValues gate_up, Values activated, std::int64_t t, std::int64_t f) {
  with_element_type(common_type({gate_up, activated}), [&]<class T>(T) {
    for_each_row_range(pool, t, f, [&](std::int64_t begin, std::int64_t end) {
      swiglu_forward_rows(gate_up.as<T>(), activated.as<T>(), begin, end, f);
    });
  });
}

void swiglu_backward(ThreadPool& pool, ConstValues gate_up, ConstValues activated_grad, Values gate_up_grad,
                     std::int64_t t, std::int64_t f) {
  with_element_type(common_type({gate_up, activated_grad, gate_up_grad}), [&]<class T>(T) {
    for_each_row_range(pool, t, f, [&](std::int64_t begin, std::int64_t end) {
      swiglu_backward_rows(gate_up.as<T>(), activated_grad.as<T>(), gate_up_grad.as<T>(), begin, end, f);
    });
  });
}

void gelu_forward(ThreadPool& pool, ConstValues in, Values activated, std::int64_t elements) {
  with_element_type(common_type({in, activated}), [&]<class T>(T) {
    for_each_range(pool, elements, kTileElements, [&](std::int64_t begin, std::int64_t end) {
      gelu_forward_range(in.as<T>(), activated.as<T>(), begin, end);
    });
  });
}

void gelu_backward(ThreadPool& pool, ConstValues in, ConstValues activated_grad, Values in_grad,
                   std::int64_t elements) {
  with_element_type(common_type({in, activated_grad, in_grad}), [&]<class T>(T) {
    for_each_range(pool, elements, kTileElements, [&](std::int64_t begin, std::int64_t end) {
      gelu_backward_range(in.as<T>(), activated_grad.as<T>(), in_grad.as<T>(), begin, end);
    });
  });
}

}  // namespace trainyard::executor::cpu
