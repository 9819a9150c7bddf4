// A library's attention beside our own kernels: plain loops in its place on emulated kernels, everywhere; cuDNN's on a
// GPU, skipped where either is missing.
//
// Tolerances as in device_contract.h: two units in the last place of bf16 and fp16, of the larger of the value
// and 3, which a gradient of unit inputs reaches.
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "executor/device/convert.h"
#include "executor/device/cuda_module.h"
#include "executor/device/element_type.h"
#include "tests/executor/device/attention_shape.h"
#include "tests/executor/device/cuda/emulated_device.h"
#include "tests/executor/device/device_fixture.h"
#include "tests/executor/device/plain_fused_attention.h"
#include "tests/support/error_of.h"

namespace trainyard::executor {
namespace {

constexpr Stream kStream = Stream::kCompute;

Attention backward(Attention attention) {
  attention.pass = AttentionPass::kBackward;
  return attention;
}

// An array in a device's memory.
class Array {
 public:
  Array(Device& device, std::int64_t elements, DataType type)
      : device_(device), elements_(elements), at_(device.allocate(ByteCount(elements * size_of(type))), type) {}
  ~Array() { device_.free(at_.data); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  Values at() const { return at_; }
  void write(const std::vector<double>& values) {
    with_element_type(at_.type, [&]<class T>(T) {
      std::vector<T> narrow(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        store(&narrow[i], static_cast<float>(values[i]));
      }
      device_.copy_in(kStream, at_.data, narrow.data(), ByteCount(elements_ * size_of(at_.type)));
      device_.synchronize();
    });
  }
  std::vector<float> read() const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(elements_ * size_of(at_.type)));
    device_.copy_out(kStream, bytes.data(), at_.data, ByteCount(elements_ * size_of(at_.type)));
    device_.synchronize();
    std::vector<float> values(static_cast<std::size_t>(elements_));
    if (at_.type == DataType::kFp32) {
      std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      to_floats(ConstValues(bytes.data(), at_.type), values.data(), elements_);
    }
    return values;
  }

 private:
  Device& device_;
  std::int64_t elements_;
  Values at_;
};

// Operands and results of both passes of one shape. What a pass leaves unwritten stays NaN.
class Passes {
 public:
  Passes(Device& device, const Attention& attention, DataType type)
      : device_(device),
        attention_(attention),
        rows_(attention.sequences * attention.queries),
        qkv_size_(rows_ * (attention.query_heads + 2 * attention.key_heads) * attention.head_size),
        out_size_(rows_ * attention.query_heads * attention.head_size),
        qkv_(device, qkv_size_, type),
        out_(device, out_size_, type),
        out_grad_(device, out_size_, type),
        qkv_grad_(device, qkv_size_, type),
        log_sum_exp_(device, rows_ * attention.query_heads, DataType::kFp32) {
    qkv_.write(normal_values(qkv_size_, 1));
    out_grad_.write(normal_values(out_size_, 2));
    forget();
  }

  void forget() {
    out_.write(std::vector<double>(static_cast<std::size_t>(out_size_), std::nan("")));
    qkv_grad_.write(std::vector<double>(static_cast<std::size_t>(qkv_size_), std::nan("")));
    log_sum_exp_.write(std::vector<double>(static_cast<std::size_t>(rows_ * attention_.query_heads), std::nan("")));
  }
  void enqueue() {
    device_.attention_forward(kStream, attention_, qkv_.at(), out_.at(), log_sum_exp_.at().as<float>());
    device_.attention_backward(kStream, backward(attention_), qkv_.at(), out_.at(), log_sum_exp_.at().as<float>(),
                               out_grad_.at(), qkv_grad_.at());
  }
  std::vector<std::vector<float>> results() const { return {out_.read(), log_sum_exp_.read(), qkv_grad_.read()}; }

 private:
  Device& device_;
  Attention attention_;
  std::int64_t rows_, qkv_size_, out_size_;
  Array qkv_, out_, out_grad_, qkv_grad_, log_sum_exp_;
};

std::vector<std::vector<float>> run(Device& device, const Attention& attention, DataType type) {
  Passes passes(device, attention, type);
  passes.enqueue();
  return passes.results();
}

void expect_close_arrays(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& expected,
                         DataType type) {
  const double tolerance = type == DataType::kBf16 ? 0x1p-7 : 0x1p-10;
  for (std::size_t array = 0; array < expected.size(); ++array) {
    ASSERT_EQ(got[array].size(), expected[array].size());
    for (std::size_t i = 0; i < expected[array].size(); ++i) {
      const double x = got[array][i], y = expected[array][i];
      ASSERT_LE(std::abs(x - y), tolerance * std::max(std::abs(y), 3.0))
          << "array " << array << ", element " << i << ": " << x << " instead of " << y;
    }
  }
}

std::int64_t fused_passes(const Device& device) { return dynamic_cast<const FusedPasses&>(device).fused_passes(); }

class FusedAttentionOf : public testing::TestWithParam<DataType> {
 protected:
  std::unique_ptr<Device> emulated(std::function<bool(const FusedShape&)> takes) {
    return make_emulated_device({}, ThreadOrder::kAscending,
                                std::make_unique<PlainFusedAttention>(std::move(takes), &taken_));
  }
  std::vector<FusedShape> taken_;
};

TEST_P(FusedAttentionOf, FindsAndLeavesItsOperandsAsOurOwnKernelsDo) {
  const auto own = make_emulated_device({});
  const auto fused = emulated([](const FusedShape&) { return true; });
  for (const Attention& a : {attention_shape(2, 2, 2, 20, 8), attention_shape(1, 4, 2, 37, 16),
                             attention_shape(2, 6, 1, 9, 24), attention_shape(1, 2, 1, 30, 8, AttentionMask::kNone),
                             attention_shape(1, 2, 1, 40, 8, AttentionMask::kCausal, 7)}) {
    SCOPED_TRACE(testing::Message() << "length " << a.queries << ", window " << a.window);
    taken_.clear();
    const auto expected = run(*own, a, GetParam());
    expect_close_arrays(run(*fused, a, GetParam()), expected, GetParam());
    ASSERT_EQ(taken_.size(), 2U);  // both passes
    EXPECT_EQ(taken_.front().pass, AttentionPass::kForward);
    EXPECT_EQ(taken_.back().pass, AttentionPass::kBackward);
  }
  EXPECT_EQ(fused->counters().flops, own->counters().flops);  // counted once, whoever computes
  EXPECT_EQ(fused_passes(*fused), 10);                        // two of each of the five shapes
  EXPECT_EQ(fused_passes(*own), 0);
}

TEST_P(FusedAttentionOf, EachPassMayBeEithers) {
  const Attention a = attention_shape(1, 4, 2, 20, 16);
  const auto own = make_emulated_device({});
  const auto expected = run(*own, a, GetParam());
  for (const AttentionPass pass : {AttentionPass::kForward, AttentionPass::kBackward}) {
    taken_.clear();
    const auto mixed = emulated([pass](const FusedShape& one) { return one.pass == pass; });
    expect_close_arrays(run(*mixed, a, GetParam()), expected, GetParam());
    ASSERT_EQ(taken_.size(), 1U);
    EXPECT_EQ(taken_.front().pass, pass);
    EXPECT_EQ(fused_passes(*mixed), 1);
  }
}

TEST_P(FusedAttentionOf, WhatItCannotTakeIsNotAskedOfIt) {
  const auto fused = emulated([](const FusedShape&) { return true; });
  run(*fused, attention_shape(1, 2, 1, 10, 20), GetParam());       // heads of 40 bytes
  run(*fused, attention_shape(1, 2, 1, 10, 16), DataType::kFp32);  // no tensor cores' type
  Array qkv(*fused, 10 * 4 * 16 + 1, GetParam()), out(*fused, 10 * 2 * 16, GetParam());
  Array log_sum_exp(*fused, 10 * 2, DataType::kFp32);
  qkv.write(normal_values(10 * 4 * 16 + 1, 1));
  // Its rows begin 2 bytes behind a multiple of 16.
  fused->attention_forward(kStream, attention_shape(1, 2, 1, 10, 16), qkv.at() + 1, out.at(),
                           log_sum_exp.at().as<float>());
  fused->synchronize();
  EXPECT_TRUE(taken_.empty());
}

// A resumed run, in which it need not fail again, would otherwise go on with other bits.
TEST_P(FusedAttentionOf, WhereItFailsOurOwnKernelsDoNotTakeOver) {
  bool fails = true;
  const auto device = emulated([&fails](const FusedShape&) {
    if (fails) {
      throw Error("out of memory", "attention");
    }
    return true;
  });
  Passes passes(*device, attention_shape(1, 2, 1, 10, 16), GetParam());
  EXPECT_EQ(error_of([&] { passes.enqueue(); }).problem(), "out of memory");
  EXPECT_TRUE(std::isnan(passes.results().front().front()));  // as nobody wrote it
  EXPECT_EQ(fused_passes(*device), 0);
  fails = false;
  passes.enqueue();
  EXPECT_FALSE(std::isnan(passes.results().front().front()));
  EXPECT_EQ(taken_.size(), 2U);  // asked again, and both passes are its
}

TEST_P(FusedAttentionOf, ItsNameIsTheDevices) {
  EXPECT_TRUE(contains(emulated([](const FusedShape&) { return true; })->name(), "attention by plain loops"));
  EXPECT_TRUE(contains(make_emulated_device({})->name(), "attention by our own kernels"));
}

INSTANTIATE_TEST_SUITE_P(Types, FusedAttentionOf, testing::Values(DataType::kBf16, DataType::kFp16),
                         [](const auto& one) { return std::string(to_string(one.param)); });

class CudaFusedAttention : public testing::TestWithParam<DataType> {
 protected:
  void SetUp() override {
    const CudaStatus status = cuda_status();
    if (!status.problem.empty()) {
      GTEST_SKIP() << status.problem;
    }
    if (!status.cudnn_problem.empty()) {
      GTEST_SKIP() << status.cudnn_problem;
    }
  }
};

// Lengths of whole tiles and not, grouped heads, no mask, a window, and one of a real model.
const Attention kShapes[] = {attention_shape(2, 2, 2, 64, 64),
                             attention_shape(1, 4, 2, 200, 128),
                             attention_shape(2, 6, 1, 77, 32),
                             attention_shape(1, 2, 1, 130, 64, AttentionMask::kNone),
                             attention_shape(1, 4, 2, 300, 64, AttentionMask::kCausal, 100),
                             attention_shape(2, 12, 12, 1024, 64)};

TEST_P(CudaFusedAttention, AgreesWithOurOwnKernels) {
  const auto own = make_cuda_device({.attention = AttentionChoice::kOwn});
  const auto fused = make_cuda_device({.attention = AttentionChoice::kCudnn});
  EXPECT_TRUE(contains(fused->name(), "attention by cuDNN"));
  for (const Attention& a : kShapes) {
    SCOPED_TRACE(testing::Message() << "length " << a.queries << ", head size " << a.head_size);
    const std::int64_t before = fused_passes(*fused);
    expect_close_arrays(run(*fused, a, GetParam()), run(*own, a, GetParam()), GetParam());
    EXPECT_EQ(fused_passes(*fused), before + 2);  // neither was our own kernels'
  }
  EXPECT_EQ(fused_passes(*own), 0);
}

TEST_P(CudaFusedAttention, RepeatsToTheBitAlsoFromAGraph) {
  for (const Attention& a : {kShapes[1], kShapes[4]}) {
    SCOPED_TRACE(testing::Message() << "length " << a.queries << ", head size " << a.head_size);
    const auto device = make_cuda_device({.attention = AttentionChoice::kCudnn});
    Passes passes(*device, a, GetParam());
    passes.enqueue();
    const auto first = passes.results();
    ASSERT_EQ(fused_passes(*device), 2);
    passes.forget();
    const auto graph = device->capture([&] { passes.enqueue(); });
    ASSERT_NE(graph, nullptr);
    ASSERT_EQ(fused_passes(*device), 4);
    device->enqueue(*graph);
    EXPECT_EQ(passes.results(), first);
    EXPECT_EQ(run(*make_cuda_device({.attention = AttentionChoice::kCudnn}), a, GetParam()), first);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaFusedAttention, testing::Values(DataType::kBf16, DataType::kFp16),
                         [](const auto& one) { return std::string(to_string(one.param)); });

TEST(CudaModule, FindsCudnnOrSaysWhatIsMissing) {
  const CudaStatus status = cuda_status();
  if (status.module_found) {
    EXPECT_TRUE(!status.cudnn.empty() || !status.cudnn_problem.empty());
  }
}

}  // namespace
}  // namespace trainyard::executor
