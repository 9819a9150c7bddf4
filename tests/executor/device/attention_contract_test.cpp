// Attention of every device against the CPU's, and within a window against plain loops.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/executor/device/attention_shape.h"
#include "tests/executor/device/device_contract.h"

namespace trainyard::executor {
namespace {

TEST_P(DeviceContract, Attention) {
  // Part of a tile, several tiles, grouped heads, heads that fill their tile's width and that don't, no mask.
  for (const Attention& a :
       {attention_shape(2, 2, 2, 32, 8), attention_shape(1, 4, 2, 37, 16), attention_shape(1, 6, 1, 19, 20),
        attention_shape(1, 2, 1, 70, 4, AttentionMask::kNone), attention_shape(3, 3, 3, 1, 8),
        attention_shape(1, 1, 1, 130, 64), attention_shape(1, 2, 1, 90, 128)}) {
    SCOPED_TRACE(testing::Message() << "length " << a.queries << ", size " << a.head_size);
    Attention backward = a;
    backward.pass = AttentionPass::kBackward;
    const std::int64_t t = a.sequences * a.queries, out_size = t * a.query_heads * a.head_size;
    const std::int64_t size = t * (a.query_heads + 2 * a.key_heads) * a.head_size;
    expect_same(
        [&](Arrays& x) {
          const Values qkv = x.values(size, 1), out = x.unwritten(out_size), out_grad = x.values(out_size, 2);
          const Values qkv_grad = x.unwritten(size);
          float* log_sum_exp = x.unwritten_floats(t * a.query_heads);
          x->attention_forward(kStream, a, qkv, out, log_sum_exp);
          x->attention_backward(kStream, backward, qkv, out, log_sum_exp, out_grad, qkv_grad);
          x.read(out, out_size);
          x.read(log_sum_exp, t * a.query_heads);
          x.read(qkv_grad, size);
          EXPECT_EQ(x->counters().flops, attention_flops(a) + attention_flops(backward));
        },
        3.0);  // of a gradient
  }
}

TEST_P(DeviceContract, AttentionWithinAWindow) {
  // Against plain loops: the CPU device has no windows. Keys of a tile, of part of one, of several.
  for (const std::int64_t window : {1, 20, 64, 100}) {
    SCOPED_TRACE(window);
    Attention a = attention_shape(1, 2, 1, 150, 16);
    a.window = window;
    const std::int64_t t = a.queries, d = a.head_size, width = 4 * d;
    Arrays x = arrays(GetParam().device);
    const auto inputs = normal_values(t * width, 1);
    const Values qkv = x.of_type(inputs, x.type()), out = x.unwritten(t * 2 * d);
    float* log_sum_exp = x.unwritten_floats(2 * t);
    x->attention_forward(kStream, a, qkv, out, log_sum_exp);
    x.read(out, t * 2 * d);
    x.read(qkv, t * width);
    const auto& in = x.results[1];
    for (std::int64_t row = 0; row < t; ++row) {
      for (std::int64_t head = 0; head < 2; ++head) {
        double sum = 0.0;
        std::vector<double> expected(static_cast<std::size_t>(d));
        for (std::int64_t key = std::max<std::int64_t>(0, row - window + 1); key <= row; ++key) {
          double score = 0.0;
          for (std::int64_t i = 0; i < d; ++i) {
            score += static_cast<double>(in[row * width + head * d + i]) * in[key * width + 2 * d + i];
          }
          const double weight = std::exp(score / std::sqrt(static_cast<double>(d)));
          sum += weight;
          for (std::int64_t i = 0; i < d; ++i) {
            expected[i] += weight * in[key * width + 3 * d + i];
          }
        }
        for (std::int64_t i = 0; i < d; ++i) {
          ASSERT_NEAR(x.results[0][(row * 2 + head) * d + i], expected[i] / sum,
                      x.type() == DataType::kFp32 ? 2e-5 : 2e-2)
              << row;
        }
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::executor
