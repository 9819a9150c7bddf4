#include <cstring>

#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

Attention shape(std::int64_t sequences, std::int64_t query_heads, std::int64_t key_heads, std::int64_t length,
                std::int64_t head_size, std::int64_t query_tile, AttentionMask mask = AttentionMask::kCausal) {
  Attention attention;
  attention.sequences = sequences;
  attention.query_heads = query_heads;
  attention.key_heads = key_heads;
  attention.queries = attention.keys = length;
  attention.head_size = head_size;
  attention.query_tile = query_tile;
  attention.mask = mask;
  return attention;
}

std::int64_t tokens(const Attention& a) { return a.sequences * a.queries; }
std::int64_t qkv_size(const Attention& a) { return tokens(a) * (a.query_heads + 2 * a.key_heads) * a.head_size; }
std::int64_t out_size(const Attention& a) { return tokens(a) * a.query_heads * a.head_size; }

Attention backward(Attention attention) {
  attention.pass = AttentionPass::kBackward;
  return attention;
}

struct Passes {
  std::vector<float> out, log_sum_exp, qkv_grad;
  DeviceCounters forward, both;
};

Passes run(const Attention& a, const std::vector<double>& qkv, const std::vector<double>& out_grad, int threads = 1) {
  DeviceArrays device(threads);
  const float *dqkv = device.upload(qkv), *dout_grad = device.upload(out_grad);
  const std::int64_t statistics = tokens(a) * a.query_heads;
  float *out = device.unwritten(out_size(a)), *lse = device.unwritten(statistics);
  float* qkv_grad = device.unwritten(qkv_size(a));
  device->attention_forward(Stream::kCompute, a, dqkv, out, lse);
  device->synchronize();
  const DeviceCounters forward = device->counters();
  device->attention_backward(Stream::kCompute, backward(a), dqkv, out, lse, dout_grad, qkv_grad);
  device->synchronize();
  return {device.download(out, out_size(a)), device.download(lse, statistics), device.download(qkv_grad, qkv_size(a)),
          forward, device->counters()};
}

// Whole tiles, a last tile of fewer rows, a tile larger than the sequence, grouped heads, no mask.
const Attention kShapes[] = {shape(2, 2, 2, 32, 8, 16), shape(1, 4, 2, 37, 16, 8),
                             shape(2, 6, 1, 19, 8, 64), shape(1, 2, 1, 24, 4, 7, AttentionMask::kNone),
                             shape(3, 3, 3, 1, 8, 4),   shape(1, 1, 1, 130, 64, 32)};

TEST(Attention, ForwardEqualsSoftmaxOfAllScores) {
  for (const Attention& a : kShapes) {
    SCOPED_TRACE(testing::Message() << "length " << a.queries);
    const auto qkv = normal_values(qkv_size(a), 1);
    const auto expected = reference::attention_forward(a, qkv);
    const Passes got = run(a, qkv, normal_values(out_size(a), 2));
    expect_close(got.out, expected.out);
    expect_close(got.log_sum_exp, expected.log_sum_exp);
  }
}

TEST(Attention, BackwardEqualsTheReferenceAndWritesEveryElement) {
  for (const Attention& a : kShapes) {
    SCOPED_TRACE(testing::Message() << "length " << a.queries);
    const auto qkv = normal_values(qkv_size(a), 1), out_grad = normal_values(out_size(a), 2);
    expect_close(run(a, qkv, out_grad).qkv_grad, reference::attention_backward(a, qkv, out_grad), 1e-5, 2e-5);
  }
}

TEST(Attention, ReferenceGradientIsTheSlopeOfItsForward) {
  const Attention a = shape(1, 4, 2, 5, 4, 2);
  const auto qkv = normal_values(qkv_size(a), 1), out_grad = normal_values(out_size(a), 2);
  expect_gradient(qkv, out_grad, reference::attention_backward(a, qkv, out_grad),
                  [&](const std::vector<double>& x) { return reference::attention_forward(a, x).out; });
}

TEST(Attention, LargeScoresDoNotOverflow) {
  const Attention a = shape(1, 1, 1, 16, 8, 8);
  const auto qkv = normal_values(qkv_size(a), 1, 30.0);  // scores of several thousand
  expect_close(run(a, qkv, normal_values(out_size(a), 2)).out, reference::attention_forward(a, qkv).out, 1e-3, 1e-3);
}

TEST(Attention, CountsWhatCoreSaysOfItsTiles) {
  for (const Attention& a : kShapes) {
    const Passes got = run(a, normal_values(qkv_size(a), 1), normal_values(out_size(a), 2));
    EXPECT_EQ(got.forward.flops, attention_flops(a));
    EXPECT_EQ(got.both.flops, attention_flops(a) + attention_flops(backward(a)));
  }
}

TEST(Attention, ThreadsDoNotChangeABit) {
  const Attention a = shape(2, 4, 2, 70, 16, 16);
  const auto qkv = normal_values(qkv_size(a), 1), out_grad = normal_values(out_size(a), 2);
  const Passes one = run(a, qkv, out_grad, 1), two = run(a, qkv, out_grad, 2);
  EXPECT_EQ(std::memcmp(one.out.data(), two.out.data(), one.out.size() * 4), 0);
  EXPECT_EQ(std::memcmp(one.qkv_grad.data(), two.qkv_grad.data(), one.qkv_grad.size() * 4), 0);
}

}  // namespace
}  // namespace trainyard::executor
