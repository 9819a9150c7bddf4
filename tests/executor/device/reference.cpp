#include "tests/executor/device/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard::reference {

Values matmul(Transpose transpose, std::int64_t m, std::int64_t n, std::int64_t k, const Values& a, const Values& b) {
  Values c(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t l = 0; l < k; ++l) {
        c[i * n + j] += a[transpose == Transpose::kTN ? l * m + i : i * k + l] *
                        b[transpose == Transpose::kNT ? j * k + l : l * n + j];
      }
    }
  }
  return c;
}

namespace {

// One query row against its keys: indices into qkv, and the weights.
struct AttentionRow {
  std::int64_t query = 0;
  std::vector<std::int64_t> keys, values;
  Values weights;
  double log_sum_exp = 0.0;
};

AttentionRow attention_row(const Attention& a, const Values& qkv, std::int64_t sequence, std::int64_t head,
                           std::int64_t row) {
  const std::int64_t d = a.head_size, width = (a.query_heads + 2 * a.key_heads) * d;
  const std::int64_t key_head = head / (a.query_heads / a.key_heads);
  AttentionRow result;
  result.query = (sequence * a.queries + row) * width + head * d;
  const std::int64_t visible = a.mask == AttentionMask::kCausal ? row + 1 : a.keys;
  double highest = -std::numeric_limits<double>::infinity();
  for (std::int64_t key = 0; key < visible; ++key) {
    const std::int64_t token = (sequence * a.keys + key) * width;
    result.keys.push_back(token + (a.query_heads + key_head) * d);
    result.values.push_back(token + (a.query_heads + a.key_heads + key_head) * d);
    double score = 0.0;
    for (std::int64_t i = 0; i < d; ++i) {
      score += qkv[result.query + i] * qkv[result.keys.back() + i];
    }
    result.weights.push_back(score / std::sqrt(static_cast<double>(d)));
    highest = std::max(highest, result.weights.back());
  }
  double sum = 0.0;
  for (double& weight : result.weights) {
    weight = std::exp(weight - highest);
    sum += weight;
  }
  for (double& weight : result.weights) {
    weight /= sum;
  }
  result.log_sum_exp = highest + std::log(sum);
  return result;
}

template <class Visit>
void for_each_attention_row(const Attention& a, const Values& qkv, const Visit& visit) {
  for (std::int64_t sequence = 0; sequence < a.sequences; ++sequence) {
    for (std::int64_t head = 0; head < a.query_heads; ++head) {
      for (std::int64_t row = 0; row < a.queries; ++row) {
        visit(attention_row(a, qkv, sequence, head, row),
              ((sequence * a.queries + row) * a.query_heads + head) * a.head_size,
              (sequence * a.query_heads + head) * a.queries + row);
      }
    }
  }
}

}  // namespace

AttentionResult attention_forward(const Attention& a, const Values& qkv) {
  AttentionResult result{Values(static_cast<std::size_t>(a.sequences * a.queries * a.query_heads * a.head_size)),
                         Values(static_cast<std::size_t>(a.sequences * a.queries * a.query_heads))};
  for_each_attention_row(a, qkv, [&](const AttentionRow& row, std::int64_t out, std::int64_t statistic) {
    for (std::size_t key = 0; key < row.weights.size(); ++key) {
      for (std::int64_t i = 0; i < a.head_size; ++i) {
        result.out[out + i] += row.weights[key] * qkv[row.values[key] + i];
      }
    }
    result.log_sum_exp[statistic] = row.log_sum_exp;
  });
  return result;
}

Values attention_backward(const Attention& a, const Values& qkv, const Values& out_grad) {
  Values grad(qkv.size());
  const double scale = 1.0 / std::sqrt(static_cast<double>(a.head_size));
  for_each_attention_row(a, qkv, [&](const AttentionRow& row, std::int64_t out, std::int64_t) {
    Values weight_grad(row.weights.size());
    double mean = 0.0;
    for (std::size_t key = 0; key < row.weights.size(); ++key) {
      for (std::int64_t i = 0; i < a.head_size; ++i) {
        weight_grad[key] += out_grad[out + i] * qkv[row.values[key] + i];
        grad[row.values[key] + i] += row.weights[key] * out_grad[out + i];
      }
      mean += row.weights[key] * weight_grad[key];
    }
    for (std::size_t key = 0; key < row.weights.size(); ++key) {
      const double score_grad = scale * row.weights[key] * (weight_grad[key] - mean);
      for (std::int64_t i = 0; i < a.head_size; ++i) {
        grad[row.query + i] += score_grad * qkv[row.keys[key] + i];
        grad[row.keys[key] + i] += score_grad * qkv[row.query + i];
      }
    }
  });
  return grad;
}

Values embed_forward(const Tokens& tokens, const Values& table, std::int64_t h, std::int64_t first_row) {
  Values out;
  for (const std::int32_t token : tokens) {
    const std::int64_t at = (token - first_row) * h;
    const bool here = at >= 0 && at < static_cast<std::int64_t>(table.size());
    for (std::int64_t i = 0; i < h; ++i) {
      out.push_back(here ? table[at + i] : 0.0);
    }
  }
  return out;
}

Values embed_backward(const Tokens& tokens, const Values& out_grad, Values table_grad, std::int64_t h,
                      std::int64_t first_row) {
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    const std::int64_t at = (tokens[token] - first_row) * h;
    if (at >= 0 && at < static_cast<std::int64_t>(table_grad.size())) {
      for (std::int64_t i = 0; i < h; ++i) {
        table_grad[at + i] += out_grad[static_cast<std::int64_t>(token) * h + i];
      }
    }
  }
  return table_grad;
}

NormResult norm_forward(const Values& x, const Values& weight, double epsilon) {
  NormResult result;
  const std::size_t h = weight.size();
  for (std::size_t row = 0; row < x.size(); row += h) {
    double squares = 0.0;
    for (std::size_t i = 0; i < h; ++i) {
      squares += x[row + i] * x[row + i];
    }
    result.rstd.push_back(1.0 / std::sqrt(squares / static_cast<double>(h) + epsilon));
    for (std::size_t i = 0; i < h; ++i) {
      result.normed.push_back(x[row + i] * result.rstd.back() * weight[i]);
    }
  }
  return result;
}

NormGradients norm_backward(const Values& normed_grad, const Values& x, const Values& weight, double epsilon) {
  const std::size_t h = weight.size();
  const Values rstd = norm_forward(x, weight, epsilon).rstd;
  NormGradients result{Values(x.size()), Values(h)};
  for (std::size_t row = 0; row < x.size() / h; ++row) {
    const double s = rstd[row];
    double dot = 0.0;
    for (std::size_t i = 0; i < h; ++i) {
      dot += normed_grad[row * h + i] * weight[i] * x[row * h + i];
      result.weight[i] += normed_grad[row * h + i] * x[row * h + i] * s;
    }
    for (std::size_t i = 0; i < h; ++i) {
      result.x[row * h + i] =
          s * weight[i] * normed_grad[row * h + i] - x[row * h + i] * s * s * s * dot / static_cast<double>(h);
    }
  }
  return result;
}

Values rope(const executor::RopeShape& shape, Values qkv, double direction) {
  const std::int64_t d = shape.head_size, half = d / 2, width = (shape.query_heads + 2 * shape.key_heads) * d;
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    for (std::int64_t head = 0; head < shape.query_heads + shape.key_heads; ++head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = direction * static_cast<double>(token % shape.sequence) *
                             std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(d));
        double& first = qkv[token * width + head * d + i];
        double& second = qkv[token * width + head * d + i + half];
        const double a = first, b = second;
        first = a * std::cos(angle) - b * std::sin(angle);
        second = b * std::cos(angle) + a * std::sin(angle);
      }
    }
  }
  return qkv;
}

Values swiglu_forward(const Values& gate_up, std::int64_t f) {
  Values out;
  for (std::size_t row = 0; row < gate_up.size(); row += 2 * f) {
    for (std::int64_t i = 0; i < f; ++i) {
      const double gate = gate_up[row + i];
      out.push_back(gate / (1.0 + std::exp(-gate)) * gate_up[row + f + i]);
    }
  }
  return out;
}

Values swiglu_backward(const Values& gate_up, const Values& activated_grad, std::int64_t f) {
  Values grad(gate_up.size());
  for (std::size_t row = 0; row < gate_up.size(); row += 2 * f) {
    for (std::int64_t i = 0; i < f; ++i) {
      const double gate = gate_up[row + i], up = gate_up[row + f + i], dy = activated_grad[row / 2 + i];
      const double s = 1.0 / (1.0 + std::exp(-gate));
      grad[row + i] = dy * up * (s + gate * s * (1.0 - s));
      grad[row + f + i] = dy * gate * s;
    }
  }
  return grad;
}

LossResult loss(const Values& logits, const Tokens& targets, std::int64_t vocabulary) {
  LossResult result;
  for (std::size_t token = 0; token < targets.size(); ++token) {
    const double* row = logits.data() + token * vocabulary;
    const double highest = *std::max_element(row, row + vocabulary);
    double sum = 0.0;
    for (std::int64_t i = 0; i < vocabulary; ++i) {
      sum += std::exp(row[i] - highest);
    }
    result.sum += std::log(sum) + highest - row[targets[token]];
    for (std::int64_t i = 0; i < vocabulary; ++i) {
      result.gradient.push_back(std::exp(row[i] - highest) / sum - (i == targets[token] ? 1.0 : 0.0));
    }
  }
  return result;
}

}  // namespace trainyard::reference
