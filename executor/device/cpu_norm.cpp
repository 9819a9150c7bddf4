// CPU launchers of the norms.

#include "executor/device/cpu_kernels.h"
#include "executor/device/element_type.h"
#include "executor/device/tiles.h"
#include "executor/device/vector_clones.h"
#include "executor/kernel/layer_norm.h"
#include "executor/kernel/norm.h"
#include "executor/kernel/serial_group.h"

namespace trainyard::executor::cpu {

namespace {

constexpr SerialGroup kGroup;

template <class T>
T* row_of(T* rows, std::int64_t at) {
  return rows == nullptr ? nullptr : rows + at;
}

template <class T>
TRAINYARD_VECTOR_CLONES void norm_forward_rows(const T* residual, const T* branch, const T* weight, T* sum, T* normed,
                                               float* rstd, std::int64_t begin, std::int64_t end, std::int64_t h,
                                               float epsilon) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * h;
    rstd[row] =
        norm_forward_row(kGroup, residual + at, row_of(branch, at), weight, row_of(sum, at), normed + at, h, epsilon);
  }
}

template <class T>
TRAINYARD_VECTOR_CLONES void norm_backward_rows(const T* normed_grad, const T* residual, const float* rstd,
                                                const T* weight, const T* incoming, T* residual_grad,
                                                std::int64_t begin, std::int64_t end, std::int64_t h) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * h;
    norm_backward_row(kGroup, normed_grad + at, residual + at, rstd[row], weight, row_of(incoming, at),
                      residual_grad + at, h);
  }
}

// Writes or adds the sums of a tile's columns.
template <class G>
inline void put_columns(const float* sums, G* to, std::int64_t columns, bool accumulate) {
  kGroup.each(columns, [&](std::int64_t i) { store(to + i, accumulate ? load(to + i) + sums[i] : sums[i]); });
}

template <class T, class G>
TRAINYARD_VECTOR_CLONES void norm_weight_columns(const T* normed_grad, const T* residual, const float* rstd,
                                                 G* weight_grad, std::int64_t t, std::int64_t h, std::int64_t begin,
                                                 std::int64_t end, bool accumulate) {
  const std::int64_t columns = end - begin;
  float sums[kTileColumns] = {};
  for (std::int64_t row = 0; row < t; ++row) {
    const T* grad = normed_grad + row * h + begin;
    const T* x = residual + row * h + begin;
    const float scale = rstd[row];
    kGroup.each(columns, [&](std::int64_t i) { sums[i] += load(grad + i) * load(x + i) * scale; });
  }
  put_columns(sums, weight_grad + begin, columns, accumulate);
}

template <class T>
TRAINYARD_VECTOR_CLONES void layer_norm_forward_rows(const T* residual, const T* branch, const T* weight, const T* bias,
                                                     T* sum, T* normed, float* moments, std::int64_t begin,
                                                     std::int64_t end, std::int64_t h, float epsilon) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * h;
    const RowMoments of_row = layer_norm_forward_row(kGroup, residual + at, row_of(branch, at), weight, bias,
                                                     row_of(sum, at), normed + at, h, epsilon);
    moments[2 * row] = of_row.mean;
    moments[2 * row + 1] = of_row.rstd;
  }
}

template <class T>
TRAINYARD_VECTOR_CLONES void layer_norm_backward_rows(const T* normed_grad, const T* residual, const float* moments,
                                                      const T* weight, const T* incoming, T* residual_grad,
                                                      std::int64_t begin, std::int64_t end, std::int64_t h) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * h;
    layer_norm_backward_row(kGroup, normed_grad + at, residual + at, RowMoments{moments[2 * row], moments[2 * row + 1]},
                            weight, row_of(incoming, at), residual_grad + at, h);
  }
}

template <class T, class G>
TRAINYARD_VECTOR_CLONES void layer_norm_weight_columns(const T* normed_grad, const T* residual, const float* moments,
                                                       G* weight_grad, G* bias_grad, std::int64_t t, std::int64_t h,
                                                       std::int64_t begin, std::int64_t end, bool accumulate) {
  const std::int64_t columns = end - begin;
  float weights[kTileColumns] = {};
  float biases[kTileColumns] = {};
  for (std::int64_t row = 0; row < t; ++row) {
    const T* grad = normed_grad + row * h + begin;
    const T* x = residual + row * h + begin;
    const float mean = moments[2 * row];
    const float rstd = moments[2 * row + 1];
    kGroup.each(columns, [&](std::int64_t i) {
      weights[i] += load(grad + i) * ((load(x + i) - mean) * rstd);
      biases[i] += load(grad + i);
    });
  }
  put_columns(weights, weight_grad + begin, columns, accumulate);
  put_columns(biases, bias_grad + begin, columns, accumulate);
}

}  // namespace

void norm_forward(ThreadPool& pool, ConstValues residual, ConstValues branch, ConstValues weight, Values sum,
                  Values normed, float* rstd, std::int64_t t, std::int64_t h, float epsilon) {
  with_element_type(common_type({normed, residual, branch, weight, sum}), [&]<class T>(T) {
    for_each_row_range(pool, t, h, [&](std::int64_t begin, std::int64_t end) {
      norm_forward_rows(residual.as<T>(), branch.as<T>(), weight.as<T>(), sum.as<T>(), normed.as<T>(), rstd, begin, end,
                        h, epsilon);
    });
  });
}

void norm_backward(ThreadPool& pool, ConstValues normed_grad, ConstValues residual, const float* rstd,
                   ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t, std::int64_t h) {
  with_element_type(common_type({normed_grad, residual, weight, incoming, residual_grad}), [&]<class T>(T) {
    for_each_row_range(pool, t, h, [&](std::int64_t begin, std::int64_t end) {
      norm_backward_rows(normed_grad.as<T>(), residual.as<T>(), rstd, weight.as<T>(), incoming.as<T>(),
                         residual_grad.as<T>(), begin, end, h);
    });
  });
}

void norm_weight_backward(ThreadPool& pool, ConstValues normed_grad, ConstValues residual, const float* rstd,
                          Values weight_grad, std::int64_t t, std::int64_t h, bool accumulate) {
  with_gradient_type(common_type({normed_grad, residual}), weight_grad.type, [&]<class T, class G>(T, G) {
    for_each_range(pool, h, kTileColumns, [&](std::int64_t begin, std::int64_t end) {
      norm_weight_columns(normed_grad.as<T>(), residual.as<T>(), rstd, weight_grad.as<G>(), t, h, begin, end,
                          accumulate);
    });
  });
}

void layer_norm_forward(ThreadPool& pool, ConstValues residual, ConstValues branch, ConstValues weight,
                        ConstValues bias, Values sum, Values normed, float* moments, std::int64_t t, std::int64_t h,
                        float epsilon) {
  with_element_type(common_type({normed, residual, branch, weight, bias, sum}), [&]<class T>(T) {
    for_each_row_range(pool, t, h, [&](std::int64_t begin, std::int64_t end) {
      layer_norm_forward_rows(residual.as<T>(), branch.as<T>(), weight.as<T>(), bias.as<T>(), sum.as<T>(),
                              normed.as<T>(), moments, begin, end, h, epsilon);
    });
  });
}

void layer_norm_backward(ThreadPool& pool, ConstValues normed_grad, ConstValues residual, const float* moments,
                         ConstValues weight, ConstValues incoming, Values residual_grad, std::int64_t t,
                         std::int64_t h) {
  with_element_type(common_type({normed_grad, residual, weight, incoming, residual_grad}), [&]<class T>(T) {
    for_each_row_range(pool, t, h, [&](std::int64_t begin, std::int64_t end) {
      layer_norm_backward_rows(normed_grad.as<T>(), residual.as<T>(), moments, weight.as<T>(), incoming.as<T>(),
                               residual_grad.as<T>(), begin, end, h);
    });
  });
}

void layer_norm_weight_backward(ThreadPool& pool, ConstValues normed_grad, ConstValues residual, const float* moments,
                                Values weight_grad, Values bias_grad, std::int64_t t, std::int64_t h, bool accumulate) {
  const DataType gradient = common_type({weight_grad, bias_grad});
  with_gradient_type(common_type({normed_grad, residual}), gradient, [&]<class T, class G>(T, G) {
    for_each_range(pool, h, kTileColumns, [&](std::int64_t begin, std::int64_t end) {
      layer_norm_weight_columns(normed_grad.as<T>(), residual.as<T>(), moments, weight_grad.as<G>(), bias_grad.as<G>(),
                                t, h, begin, end, accumulate);
    });
  });
}

}  // namespace trainyard::executor::cpu
