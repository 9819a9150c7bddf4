#include "tests/executor/device/plain_fused_attention.h"

#include <algorithm>
#include <cmath>

#include "executor/device/element_type.h"

namespace trainyard::executor {

namespace {

using Row = std::vector<double>;

// Rows of an operand: loaded to doubles, rounded when stored.
class Operand {
 public:
  Operand(const FusedTensor& at, ConstValues array) : at_(at), array_(array) {}

  Row load(std::int64_t sequence, std::int64_t head, std::int64_t row) const {
    Row values;
    with_element_type(array_.type, [&]<class T>(T) {
      for (std::int64_t i = 0; i < at_.sizes[3]; ++i) {
        values.push_back(executor::load(array_.as<T>() + first(sequence, head, row) + i * at_.strides[3]));
      }
    });
    return values;
  }

 protected:
  std::int64_t first(std::int64_t sequence, std::int64_t head, std::int64_t row) const {
    return at_.offset + sequence * at_.strides[0] + head * at_.strides[1] + row * at_.strides[2];
  }
  const FusedTensor& at_;
  ConstValues array_;
};

class Result : public Operand {
 public:
  Result(const FusedTensor& at, Values array) : Operand(at, array), to_(array) {}

  void store(std::int64_t sequence, std::int64_t head, std::int64_t row, const Row& values) const {
    with_element_type(to_.type, [&]<class T>(T) {
      for (std::int64_t i = 0; i < at_.sizes[3]; ++i) {
        executor::store(to_.as<T>() + first(sequence, head, row) + i * at_.strides[3], static_cast<float>(values[i]));
      }
    });
  }

 private:
  Values to_;
};

double dot(const Row& a, const Row& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

void add(Row& sum, double factor, const Row& row) {
  sum.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    sum[i] += factor * row[i];
  }
}

bool keeps(const FusedShape& shape, std::int64_t query, std::int64_t key) {
  return !shape.causal || (key <= query && (shape.window == 0 || key + shape.window > query));
}

constexpr std::int64_t kWorkspace = 40;  // bytes

void fill(void* workspace) { std::fill_n(static_cast<unsigned char*>(workspace), kWorkspace, 0xff); }

}  // namespace

std::optional<std::int64_t> PlainFusedAttention::workspace(const FusedShape& shape) {
  return takes_(shape) ? std::optional(kWorkspace) : std::nullopt;
}

void PlainFusedAttention::forward(void*, const FusedShape& shape, void* workspace, ConstValues qkv, Values out,
                                  float* log_sum_exp) {
  fill(workspace);
  taken_->push_back(shape);
  const FusedTensors at = fused_tensors(shape);
  const Operand queries(at.query, qkv), keys(at.key, qkv), values(at.value, qkv);
  const Result results(at.out, out), statistics(at.statistics, log_sum_exp);
  const std::int64_t group = shape.query_heads / shape.key_heads;
  for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    for (std::int64_t head = 0; head < shape.query_heads; ++head) {
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        const Row query = queries.load(sequence, head, row);
        Row weighted(static_cast<std::size_t>(shape.value_size));
        double sum = 0.0;
        for (std::int64_t key = 0; key < shape.rows; ++key) {
          if (keeps(shape, row, key)) {
            const double weight = std::exp(at.scale * dot(query, keys.load(sequence, head / group, key)));
            sum += weight;
            add(weighted, weight, values.load(sequence, head / group, key));
          }
        }
        for (double& element : weighted) {
          element /= sum;
        }
        results.store(sequence, head, row, weighted);
        statistics.store(sequence, head, row, {std::log(sum)});
      }
    }
  }
}

void PlainFusedAttention::backward(void*, const FusedShape& shape, void* workspace, ConstValues qkv, ConstValues out,
                                   const float* log_sum_exp, ConstValues out_grad, Values qkv_grad) {
  fill(workspace);
  taken_->push_back(shape);
  const FusedTensors at = fused_tensors(shape);
  const Operand queries(at.query, qkv), keys(at.key, qkv), values(at.value, qkv);
  const Operand outs(at.out, out), out_grads(at.out, out_grad), statistics(at.statistics, log_sum_exp);
  const Result query_grads(at.query, qkv_grad), key_grads(at.key, qkv_grad), value_grads(at.value, qkv_grad);
  const std::int64_t group = shape.query_heads / shape.key_heads;
  for (std::int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    for (std::int64_t key_head = 0; key_head < shape.key_heads; ++key_head) {
      std::vector<Row> key_sums(static_cast<std::size_t>(shape.rows)), value_sums(key_sums);
      for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
        for (std::int64_t row = 0; row < shape.rows; ++row) {
          const Row query = queries.load(sequence, head, row), grad = out_grads.load(sequence, head, row);
          const double delta = dot(grad, outs.load(sequence, head, row));
          const double statistic = statistics.load(sequence, head, row).front();
          Row query_sum;
          for (std::int64_t key = 0; key < shape.rows; ++key) {
            const Row key_row = keys.load(sequence, key_head, key);
            const double kept = keeps(shape, row, key) ? 1.0 : 0.0;
            const double weight = kept * std::exp(at.scale * dot(query, key_row) - statistic);
            const double score_grad = at.scale * weight * (dot(grad, values.load(sequence, key_head, key)) - delta);
            add(value_sums[static_cast<std::size_t>(key)], weight, grad);
            add(key_sums[static_cast<std::size_t>(key)], score_grad, query);
            add(query_sum, score_grad, key_row);
          }
          query_grads.store(sequence, head, row, query_sum);
        }
      }
      for (std::int64_t key = 0; key < shape.rows; ++key) {
        key_grads.store(sequence, key_head, key, key_sums[static_cast<std::size_t>(key)]);
        value_grads.store(sequence, key_head, key, value_sums[static_cast<std::size_t>(key)]);
      }
    }
  }
}

}  // namespace trainyard::executor
