// Every method of Device on every device, against the CPU device, whose own tests compare it with fp64 references.
//
// The devices: "cuda", skipped where no GPU is; and "emulated", the same kernels as on a GPU run thread by thread on
// the CPU (cuda/emulated_block.h), everywhere. fp32 to 1e-5; bf16 and fp16 to two units in their last place, 2^-7 and
// 2^-10, of the larger of the value and the deviation of the inputs, as sums in another order may round another way.
#include <time.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <tuple>

#include "core/error.h"
#include "core/program/norm_sum.h"
#include "executor/device/convert.h"
#include "executor/device/cuda_module.h"
#include "tests/executor/device/cuda/emulated_device.h"
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

struct Case {
  std::string device;
  DataType type;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.device + "_" + std::string(to_string(info.param.type));
}

// A device and arrays in its memory, of the case's type or as asked for.
class Arrays {
 public:
  Arrays(std::unique_ptr<Device> device, DataType type) : device_(std::move(device)), type_(type) {}

  Device* operator->() const { return device_.get(); }

  template <class T>
  T* raw(const std::vector<T>& values) {
    const ByteCount bytes(static_cast<std::int64_t>(values.size() * sizeof(T)));
    T* memory = static_cast<T*>(device_->allocate(bytes));
    device_->copy_in(Stream::kCompute, memory, values.data(), bytes);
    device_->synchronize();
    return memory;
  }
  float* floats(std::int64_t count, unsigned seed, double deviation = 1.0) {
    const auto values = normal_values(count, seed, deviation);
    return raw(std::vector<float>(values.begin(), values.end()));
  }
  Values values(std::int64_t count, unsigned seed, double deviation = 1.0) {
    return of_type(normal_values(count, seed, deviation), type_);
  }
  Values of_type(const std::vector<double>& values, DataType type) {
    if (type == DataType::kFp32) {
      return raw(std::vector<float>(values.begin(), values.end()));
    }
    return type == DataType::kBf16 ? rounded<Bfloat16>(values) : rounded<Float16>(values);
  }
  Values unwritten(std::int64_t count) { return of_type(not_numbers(count), type_); }
  float* unwritten_floats(std::int64_t count) { return of_type(not_numbers(count), DataType::kFp32).as<float>(); }

  void read(Values values, std::int64_t count) {
    std::vector<float> result(static_cast<std::size_t>(count));
    if (values.type == DataType::kFp32) {
      result = read_raw(values.as<float>(), count);
    } else {
      const auto narrow = read_raw(values.as<std::uint16_t>(), count);
      to_floats(ConstValues(narrow.data(), values.type), result.data(), count);
    }
    results.push_back(std::move(result));
  }
  void read_words(const std::int64_t* words) { sums.push_back(read_raw(words, kSumWords)); }

  DataType type() const { return type_; }

  std::vector<std::vector<float>> results;
  std::vector<std::vector<std::int64_t>> sums;

 private:
  template <class T>
  Values rounded(const std::vector<double>& values) {
    std::vector<T> narrow(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      store(&narrow[i], static_cast<float>(values[i]));
    }
    return raw(narrow);
  }
  static std::vector<double> not_numbers(std::int64_t count) {
    return std::vector<double>(static_cast<std::size_t>(count), std::nan(""));
  }
  template <class T>
  std::vector<T> read_raw(const T* memory, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    device_->copy_out(Stream::kCompute, values.data(), memory, ByteCount(count * static_cast<std::int64_t>(sizeof(T))));
    device_->synchronize();
    return values;
  }

  std::unique_ptr<Device> device_;
  DataType type_;
};

class DeviceContract : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().device == "cuda") {
      const CudaStatus status = cuda_status();
      if (!status.problem.empty()) {
        GTEST_SKIP() << status.problem;
      }
    }
  }

  Arrays arrays(const std::string& device) const {
    const DataType type = GetParam().type;
    if (device == "cuda") {
      return {make_cuda_device({}), type};
    }
    if (device == "emulated") {
      return {make_emulated_device({}), type};
    }
    if (device == "emulated descending") {
      return {make_emulated_device({}, ThreadOrder::kDescending), type};
    }
    return {make_cpu_device({.bf16 = Bf16Path::kWidened}), type};
  }

  // Runs `work` on the case's device and on the CPU and compares what it read. Integer sums are equal to the bit.
  void expect_same(const std::function<void(Arrays&)>& work, double deviation = 1.0) const {
    Arrays expected = arrays("cpu");
    work(expected);
    Arrays got = arrays(GetParam().device);
    work(got);
    EXPECT_EQ(got.sums, expected.sums);
    compare(got, expected, tolerance(), deviation);
    if (GetParam().device == "emulated") {  // no result depends on which thread comes first
      Arrays descending = arrays("emulated descending");
      work(descending);
      EXPECT_EQ(descending.sums, got.sums);
      compare(descending, got, 0.0, 0.0);
    } else {  // nor on chance
      Arrays again = arrays(GetParam().device);
      work(again);
      EXPECT_EQ(again.sums, got.sums);
      compare(again, got, 0.0, 0.0);
    }
  }

  double tolerance() const {
    return GetParam().type == DataType::kFp32 ? 1e-5 : GetParam().type == DataType::kBf16 ? 0x1p-7 : 0x1p-10;
  }

  static void compare(const Arrays& got, const Arrays& expected, double tolerance, double deviation) {
    ASSERT_EQ(got.results.size(), expected.results.size());
    ASSERT_GT(got.results.size() + got.sums.size(), 0U);
    for (std::size_t array = 0; array < got.results.size(); ++array) {
      ASSERT_EQ(got.results[array].size(), expected.results[array].size());
      for (std::size_t i = 0; i < got.results[array].size(); ++i) {
        const double x = got.results[array][i];
        const double y = expected.results[array][i];
        ASSERT_TRUE(x == y || std::abs(x - y) <= tolerance * std::max(std::abs(y), deviation))
            << "array " << array << ", element " << i << ": " << x << " instead of " << y;
      }
    }
  }
};

constexpr Stream kStream = Stream::kCompute;

// Rows of whole 16-byte packs, and rows that are none.
constexpr std::int64_t kWidths[] = {8, 64, 264, 2056, 7, 130, 333};

TEST_P(DeviceContract, Norms) {
  for (const std::int64_t h : kWidths) {
    SCOPED_TRACE(h);
    const std::int64_t t = 5;
    expect_same([&](Arrays& x) {
      const Values residual = x.values(t * h, 1), branch = x.values(t * h, 2), weight = x.values(h, 3);
      const Values incoming = x.values(t * h, 4), grad = x.values(t * h, 5);
      const Values sum = x.unwritten(t * h), normed = x.unwritten(t * h), back = x.unwritten(t * h);
      float* rstd = x.unwritten_floats(t);
      x->norm_forward(kStream, residual, branch, weight, sum, normed, rstd, t, h, 1e-5f);
      x->norm_backward(kStream, grad, sum, rstd, weight, incoming, back, t, h);
      x->norm_backward(kStream, grad, sum, rstd, weight, incoming, incoming, t, h);  // in place
      const Values alone = x.unwritten(t * h), alone_back = x.unwritten(t * h);
      float* alone_rstd = x.unwritten_floats(t);
      x->norm_forward(kStream, residual, nullptr, weight, nullptr, alone, alone_rstd, t, h, 1e-5f);
      x->norm_backward(kStream, grad, residual, alone_rstd, weight, nullptr, alone_back, t, h);
      for (const Values& array : {sum, normed, back, incoming, alone, alone_back}) {
        x.read(array, t * h);
      }
      x.read(rstd, t);
      x.read(alone_rstd, t);
    });
  }
}

TEST_P(DeviceContract, LayerNorms) {
  for (const std::int64_t h : kWidths) {
    SCOPED_TRACE(h);
    const std::int64_t t = 5;
    expect_same([&](Arrays& x) {
      const Values residual = x.values(t * h, 1), branch = x.values(t * h, 2), weight = x.values(h, 3);
      const Values bias = x.values(h, 6), incoming = x.values(t * h, 4), grad = x.values(t * h, 5);
      const Values sum = x.unwritten(t * h), normed = x.unwritten(t * h), back = x.unwritten(t * h);
      const Values alone = x.unwritten(t * h), alone_back = x.unwritten(t * h);
      float *moments = x.unwritten_floats(2 * t), *alone_moments = x.unwritten_floats(2 * t);
      x->layer_norm_forward(kStream, residual, branch, weight, bias, sum, normed, moments, t, h, 1e-5f);
      x->layer_norm_backward(kStream, grad, sum, moments, weight, incoming, back, t, h);
      x->layer_norm_forward(kStream, residual, nullptr, weight, bias, nullptr, alone, alone_moments, t, h, 1e-5f);
      x->layer_norm_backward(kStream, grad, residual, alone_moments, weight, nullptr, alone_back, t, h);
      for (const Values& array : {sum, normed, back, alone, alone_back}) {
        x.read(array, t * h);
      }
      x.read(moments, 2 * t);
    });
  }
}

TEST_P(DeviceContract, SumsOverTokensInGradientsOfEitherType) {
  for (const std::int64_t h : {8, 264, 7, 333}) {
    for (const std::int64_t t : {1, 70, 600}) {
      SCOPED_TRACE(testing::Message() << t << " x " << h);
      const double deviation = 2.0 * std::sqrt(static_cast<double>(t));  // of a sum of t products of unit normals
      expect_same(
          [&](Arrays& x) {
            const Values grad = x.values(t * h, 1), residual = x.values(t * h, 2);
            const float *rstd = x.floats(t, 3), *moments = x.floats(2 * t, 4);
            for (const DataType type : {x.type(), DataType::kFp32}) {
              const Values weight = x.of_type(normal_values(h, 5), type), bias = x.of_type(normal_values(h, 6), type);
              const Values layer = x.of_type(normal_values(h, 7), type);
              for (const bool accumulate : {true, false}) {
                x->norm_weight_backward(kStream, grad, residual, rstd, weight, t, h, accumulate);
                x.read(weight, h);
                x->layer_norm_weight_backward(kStream, grad, residual, moments, layer, bias, t, h, accumulate);
                x.read(layer, h);
                x.read(bias, h);
                x->bias_backward(kStream, grad, bias, t, h, accumulate);
                x.read(bias, h);
              }
            }
          },
          deviation);
    }
  }
}

TEST_P(DeviceContract, Embeddings) {
  const std::int64_t t = 300, rows = 40, first = 7;  // more than the 256 that a block looks at at once
  // About 5 tokens a row. The CPU rounds a bf16 sum at every token, the kernel once for 256.
  const double deviation = GetParam().type == DataType::kFp32 ? 6.0 : 20.0;
  for (const std::int64_t h : {16, 7}) {
    SCOPED_TRACE(h);
    expect_same(
        [&](Arrays& x) {
          const std::int32_t* tokens = x.raw(token_values(t, 60, 1));
          const Values table = x.values(rows * h, 2), out = x.unwritten(t * h), grad = x.values(t * h, 3);
          x->embed_forward(kStream, tokens, table, out, t, h, first, rows);
          x.read(out, t * h);
          for (const DataType type : {x.type(), DataType::kFp32}) {
            const Values table_grad = x.of_type(normal_values(rows * h, 4), type);
            x->embed_backward(kStream, tokens, grad, table_grad, t, h, first, rows);
            x.read(table_grad, rows * h);
          }
          const std::int64_t sequence = t / 2;
          const Values positions = x.values(sequence * h, 5);
          x->position_forward(kStream, positions, out, t, h, sequence);
          x.read(out, t * h);
          const Values positions_grad = x.values(sequence * h, 6);
          x->position_backward(kStream, grad, positions_grad, t, h, sequence, true);
          x.read(positions_grad, sequence * h);
          x->position_backward(kStream, grad, positions_grad, t, h, sequence, false);
          x.read(positions_grad, sequence * h);
        },
        deviation);
  }
}

TEST_P(DeviceContract, Activations) {
  for (const std::int64_t f : kWidths) {
    SCOPED_TRACE(f);
    const std::int64_t t = 3;
    expect_same([&](Arrays& x) {
      const Values gate_up = x.values(t * 2 * f, 1), grad = x.values(t * f, 2), out = x.unwritten(t * f);
      const Values gate_up_grad = x.unwritten(t * 2 * f), sum = x.unwritten(t * f);
      x->swiglu_forward(kStream, gate_up, out, t, f);
      x->swiglu_backward(kStream, gate_up, grad, gate_up_grad, t, f);
      x.read(out, t * f);
      x.read(gate_up_grad, t * 2 * f);
      x->gelu_forward(kStream, gate_up, gate_up_grad, t * 2 * f);
      x.read(gate_up_grad, t * 2 * f);
      x->gelu_backward(kStream, gate_up, out, sum, t * f);
      x.read(sum, t * f);
      x->add(kStream, grad, out, sum, t * f);
      x.read(sum, t * f);
    });
  }
}

TEST_P(DeviceContract, RotaryPositions) {
  for (const std::int64_t d : {2, 10, 32, 128}) {
    SCOPED_TRACE(d);
    RopeShape shape{.tokens = 14, .sequence = 7, .query_heads = 5, .key_heads = 2, .head_size = d};
    const std::int64_t size = shape.tokens * (shape.query_heads + 2 * shape.key_heads) * d;
    expect_same([&](Arrays& x) {
      RopeShape here = shape;
      here.cosines = x.floats(shape.sequence * d / 2, 1);
      here.sines = x.floats(shape.sequence * d / 2, 2);
      const Values qkv = x.values(size, 3);
      x->rope_forward(kStream, here, qkv);
      x.read(qkv, size);
      x->rope_backward(kStream, here, qkv);
      x.read(qkv, size);
    });
  }
}

TEST_P(DeviceContract, LossOverSlicesOfTheVocabulary) {
  for (const std::int64_t v : {64, 77, 4104}) {
    SCOPED_TRACE(v);
    const std::int64_t t = 6;
    expect_same([&](Arrays& x) {
      const std::int32_t* targets = x.raw(token_values(t, static_cast<std::int32_t>(2 * v), 1));
      const Values slices[] = {x.values(t * v, 2, 3.0), x.values(t * v, 3, 3.0)};
      float* statistics = x.unwritten_floats(2 * t * 3);
      std::int64_t* sum = x.raw(std::vector<std::int64_t>(kSumWords, 0));
      for (int part = 0; part < 2; ++part) {
        x->loss_statistics(kStream, slices[part], targets, statistics + part * t * 3, t, v, part * v);
      }
      x->loss_gradient(kStream, slices[0], targets, statistics, 2, t, v, 0, 0.0f, nullptr);  // leaves the logits
      for (int part = 0; part < 2; ++part) {
        x->loss_gradient(kStream, slices[part], targets, statistics, 2, t, v, part * v, 0.25f,
                         part == 0 ? sum : nullptr);
        x.read(slices[part], t * v);
      }
      std::vector<std::int64_t> words(kSumWords);
      x->copy_out(kStream, words.data(), sum, ByteCount(kSumWords * 8));
      x->synchronize();
      x.results.push_back({static_cast<float>(value(words))});
    });
  }
}

TEST_P(DeviceContract, GradientNormsAreEqualToTheBit) {
  for (const std::int64_t elements : {1, 15, 1024, 1030, 200005}) {
    SCOPED_TRACE(elements);
    expect_same([&](Arrays& x) {
      const Values values = x.values(elements + 1, 1, 1e-3);
      std::int64_t* sum = x.raw(std::vector<std::int64_t>(kSumWords, 3));
      x->sum_of_squares(kStream, values, elements, sum);
      x->sum_of_squares(kStream, values + 1, elements, sum);  // from an address that is no multiple of 16
      x.read_words(sum);
    });
  }
}

TEST_P(DeviceContract, ClipFactors) {
  expect_same([&](Arrays& x) {
    std::vector<std::int64_t> words(kSumWords, 0);
    add_term(words, 1.7e-3);
    add_term(words, 33.25);
    std::vector<std::int64_t> infinite = words;
    add_term(infinite, std::numeric_limits<double>::infinity());
    const std::int64_t *sum = x.raw(words), *none = x.raw(std::vector<std::int64_t>(kSumWords, 0));
    float* scales = x.unwritten_floats(7);
    x->clip_scale(kStream, sum, 1.0f, {}, scales);
    x->clip_scale(kStream, sum, 1e3f, {}, scales + 1);
    x->clip_scale(kStream, sum, 0.0f, {}, scales + 2);
    x->clip_scale(kStream, none, 1.0f, {}, scales + 3);
    const GradientScale scaled{.scale = 1024.0f, .skips = true};
    x->clip_scale(kStream, sum, 1e-3f, scaled, scales + 4);
    x->clip_scale(kStream, sum, 1.0f, scaled, scales + 5);
    x->clip_scale(kStream, x.raw(infinite), 1.0f, scaled, scales + 6);
    x.read(scales, 7);
    EXPECT_EQ(x.results.front()[5], 0x1p-10f);  // the norm, 5.77 / 1024, is below 1
    EXPECT_EQ(x.results.front()[6], kSkipUpdate);
    x->clip_scale(kStream, x.raw(infinite), 1.0f, {}, scales);
    float scale = 0.0f;
    x->copy_out(kStream, &scale, scales, ByteCount(4));
    x->synchronize();
    EXPECT_TRUE(std::isnan(scale));
  });
}

TEST_P(DeviceContract, OptimizersUpdateMasterAndWorkingCopy) {
  for (const std::int64_t n : {4096, 5003}) {
    SCOPED_TRACE(n);
    expect_same([&](Arrays& x) {
      const AdamW options{.learning_rate = 1e-2f,
                          .beta1 = 0.9f,
                          .beta2 = 0.99f,
                          .epsilon = 1e-8f,
                          .weight_decay = 0.1f,
                          .bias_correction1 = 0.19f,
                          .bias_correction2 = 0.0199f};
      const bool mixed = x.type() != DataType::kFp32;
      const Values working = mixed ? x.unwritten(n) : Values();
      const Values gradients = x.values(n, 1);
      const float* clip = x.raw(std::vector<float>{0.5f});
      float *master = x.floats(n, 2), *momentum = x.floats(n, 3), *velocity = x.floats(n, 4);
      float* variance = x.raw(std::vector<float>(static_cast<std::size_t>(n), 0.01f));
      x->adamw(kStream, options, master, working, gradients, momentum, variance, clip, n);
      for (float* array : {master, momentum, variance}) {
        x.read(array, n);
      }
      x->sgd(kStream, 0.1f, 0.9f, 0.01f, master, working, gradients, velocity, clip, n);
      x->sgd(kStream, 0.1f, 0.0f, 0.01f, master, working, gradients, nullptr, clip, n);
      x.read(master, n);
      x.read(velocity, n);
      if (mixed) {
        x.read(working, n);
      }
    });
  }
}

TEST_P(DeviceContract, AnUpdateThatIsSkippedChangesNothing) {
  constexpr std::int64_t kElements = 5003;
  const bool mixed = GetParam().type != DataType::kFp32;
  const std::vector<float> kept(kElements, 0.75f);
  Arrays x = arrays(GetParam().device);
  const Values gradients = x.of_type(std::vector<double>(kElements, std::nan("")), x.type());
  const Values working = mixed ? x.of_type(std::vector<double>(kElements, 0.75), x.type()) : Values();
  float *master = x.raw(kept), *momentum = x.raw(kept), *variance = x.raw(kept);
  const float* skip = x.raw(std::vector<float>{kSkipUpdate});
  x->adamw(kStream, {.learning_rate = 1e-2f}, master, working, gradients, momentum, variance, skip, kElements);
  x->sgd(kStream, 0.1f, 0.9f, 0.01f, master, working, gradients, momentum, skip, kElements);
  for (const Values& array : {Values(master), Values(momentum), Values(variance), mixed ? working : Values(master)}) {
    x.read(array, kElements);
    EXPECT_EQ(x.results.back(), kept);
  }
}

// 10 bits of mantissa in the operands: 2^-10 of each factor, errors of both signs. On the CPU they are fp32 products.
TEST_P(DeviceContract, ProductsInTf32OfFp32Arrays) {
  if (GetParam().type != DataType::kFp32) {
    GTEST_SKIP() << "tf32 multiplies fp32";
  }
  const std::int64_t m = 64, n = 96, k = 128;
  const Gemm gemm{.m = m, .n = n, .k = k, .type = DataType::kTf32, .transpose = Transpose::kNT};
  const auto product = [&](const std::string& device) {
    Arrays x = arrays(device);
    const Values a = x.values(m * k, 1), b = x.values(n * k, 2), bias = x.values(n, 3), c = x.unwritten(m * n);
    x->matmul(kStream, gemm, a, b, c, bias);
    x.read(c, m * n);
    return x.results.front();
  };
  const std::vector<float> expected = product("cpu"), got = product(GetParam().device);
  const double deviation = std::sqrt(static_cast<double>(k));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 4 * 0x1p-10 * deviation) << i;
  }
}

// Both devices multiply the same numbers: what differs is the order of fp32 sums.
TEST_P(DeviceContract, ProductsInFp8OfBf16Arrays) {
  if (GetParam().type != DataType::kBf16) {
    GTEST_SKIP() << "fp8 multiplies bf16";
  }
  if (const CudaStatus status = cuda_status();
      GetParam().device == "cuda" && status.gpus.front().compute_capability < 89) {
    GTEST_SKIP() << "the GPU has no fp8";
  }
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
    for (const GradientOperand gradient : {GradientOperand::kNone, GradientOperand::kA, GradientOperand::kB}) {
      for (const auto& [m, n, k] : {std::tuple{16, 32, 48}, {80, 144, 112}}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(transpose) << " " << static_cast<int>(gradient) << " " << m
                                        << " " << n << " " << k);
        Gemm gemm{.m = m, .n = n, .k = k, .type = DataType::kFp8, .transpose = transpose, .gradient = gradient};
        const auto products = [&, m = m, n = n, k = k](const std::string& device) {
          Arrays x = arrays(device);
          const Values a = x.values(m * k + 1, 1, 1e-3), b = x.values(n * k, 2, 30.0), bias = x.values(n, 3);
          float* c = x.floats(m * n, 4);
          gemm.accumulate = true;
          x->matmul(kStream, gemm, a, b, c, nullptr);
          x.read(c, m * n);
          gemm.accumulate = false;
          x->matmul(kStream, gemm, a + 1, b, c, nullptr);  // from an address that is no multiple of 16
          x.read(c, m * n);
          const Values narrow = x.unwritten(m * n);
          x->matmul(kStream, gemm, a, b, narrow, bias);
          x.read(narrow, m * n);
          EXPECT_EQ(x->counters().flops.value(), 3 * 2 * m * n * k);
          return std::move(x.results);
        };
        const auto expected = products("cpu"), got = products(GetParam().device);
        for (std::size_t array = 0; array < expected.size(); ++array) {
          for (std::size_t i = 0; i < expected[array].size(); ++i) {
            const double rounding = array == 2 ? 0x1p-7 : 1e-5;
            ASSERT_NEAR(got[array][i], expected[array][i], rounding * std::max(1.0F, std::abs(expected[array][i])))
                << array << " " << i;
          }
        }
      }
    }
  }
}

// Rows of a matrix of fp8 must be multiples of 16 bytes for the tensor cores; the CPU multiplies any.
TEST_P(DeviceContract, ProductsInFp8OfOtherSidesAreRefused) {
  if (GetParam().type != DataType::kBf16) {
    GTEST_SKIP() << "fp8 multiplies bf16";
  }
  Arrays x = arrays(GetParam().device);
  const Gemm gemm{.m = 16, .n = 16, .k = 24, .type = DataType::kFp8};
  EXPECT_THROW(x->matmul(kStream, gemm, x.values(16 * 24, 1), x.values(16 * 24, 2), x.unwritten(256), nullptr), Error);
}

// A device may activate what it writes before it rounds it: by half a unit of bf16 apart at the slope of GELU, 1.13.
TEST_P(DeviceContract, ProductsThatActivate) {
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT}) {
    for (const auto& [m, n, k] : {std::tuple{5, 7, 3}, {48, 64, 32}, {37, 120, 61}}) {
      SCOPED_TRACE(testing::Message() << m << " " << n << " " << k);
      expect_same(
          [&, m = m, n = n, k = k](Arrays& x) {
            const Gemm gemm{.m = m, .n = n, .k = k, .type = x.type(), .transpose = transpose};
            const Values a = x.values(m * k, 1, 0.3), b = x.values(k * n, 2, 0.3), bias = x.values(n, 3, 0.3);
            const Values before = x.unwritten(m * n), activated = x.unwritten(m * n), back = x.unwritten(m * n);
            x->matmul_gelu(kStream, gemm, a, b, bias, before, activated);
            x.read(before, m * n);
            x.read(activated, m * n);
            x->matmul_gelu(kStream, gemm, a, b, nullptr, before, activated);
            x.read(before, m * n);
            x.read(activated, m * n);
            x->matmul_gelu_backward(kStream, gemm, a, b, before, back);
            x.read(back, m * n);
            EXPECT_EQ(x->counters().flops.value(), 3 * 2 * m * n * k);
          },
          2.0);
    }
  }
}

// Twice enqueued is twice done, on every stream, and counted.
TEST_P(DeviceContract, CapturedWorkIsDoneAsOftenAsItIsEnqueued) {
  constexpr std::int64_t kRows = 64, kWidth = 256;
  expect_same([&](Arrays& x) {
    const Values a = x.values(kRows * kWidth, 1), weight = x.values(kWidth * kWidth, 2, 0.1);
    const Values product = x.unwritten(kRows * kWidth), sum = x.values(kRows * kWidth, 3);
    float* bias_grad = x.raw(std::vector<float>(kWidth, 0.0f));
    const Gemm gemm{.m = kRows, .n = kWidth, .k = kWidth, .type = x.type(), .transpose = Transpose::kNT};
    const auto calls = [&] {
      x->matmul(kStream, gemm, a, weight, product, nullptr);
      const EventHandle made = x->record(kStream);
      x->wait(Stream::kTensor, made);
      x->add(Stream::kTensor, sum, product, sum, kRows * kWidth);
      x->bias_backward(Stream::kTensor, product, bias_grad, kRows, kWidth, true);
      x->wait(kStream, x->record(Stream::kTensor));
      x->add(kStream, sum, a, sum, kRows * kWidth);
    };
    calls();
    x->synchronize();
    const std::int64_t one = x->counters().flops.value();
    const std::unique_ptr<CapturedWork> work = x->capture(calls);
    ASSERT_NE(work, nullptr);
    EXPECT_EQ(x->counters().flops.value(), one);  // not enqueued yet
    x->enqueue(*work);
    x->enqueue(*work);
    // What follows on the compute stream, or waits for it, comes after.
    x->wait(Stream::kData, x->record(kStream));
    x->add(Stream::kData, sum, a, sum, kRows * kWidth);
    x->synchronize();
    EXPECT_EQ(x->counters().flops.value(), 3 * one);
    x.read(sum, kRows * kWidth);
    x.read(bias_grad, kWidth);
    // Equal to three calls, to the bit: sum and gradient are functions of the same products.
    calls();
    x->synchronize();
    x.read(sum, kRows * kWidth);
  });
}

TEST_P(DeviceContract, WorkWhoseCallsCannotBeKeptIsNotCaptured) {
  Arrays x = arrays(GetParam().device);
  float* values = x.raw(std::vector<float>(16, 1.0f));
  const EventHandle outside = x->record(Stream::kData);
  EXPECT_EQ(x->capture([&] {
    x->wait(kStream, outside);
    x->add(kStream, values, values, values, 16);
  }),
            nullptr);
  if (GetParam().device == "cuda") {  // the CPU keeps any other call
    EXPECT_EQ(x->capture([&] { x->host_function(kStream, [] {}); }), nullptr);
    float host = 0;
    EXPECT_EQ(x->capture([&] { x->copy_out(kStream, &host, values, ByteCount(4)); }), nullptr);
    SliceClock clock;
    EXPECT_EQ(x->capture([&] { x->begin_slice(kStream, &clock); }), nullptr);
  }
  x->wait(kStream, outside);  // and the device works on
  x->add(kStream, values, values, values, 16);
  EXPECT_NO_THROW(x->synchronize());
  x.read(values, 16);
  EXPECT_EQ(x.results.back(), std::vector<float>(16, 2.0f));  // added once
}

TEST_P(DeviceContract, MatrixProductsOfEveryStorageOrder) {
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {48, 64, 32}, {37, 53, 61}}) {
      SCOPED_TRACE(testing::Message() << m << " " << n << " " << k);
      expect_same(
          [&, m = m, n = n, k = k](Arrays& x) {
            Gemm gemm{.m = m, .n = n, .k = k, .type = x.type(), .transpose = transpose};
            const Values a = x.values(m * k, 1), b = x.values(k * n, 2), bias = x.values(n, 3);
            const Values c = x.unwritten(m * n);
            x->matmul(kStream, gemm, a, b, c, nullptr);
            x.read(c, m * n);
            x->matmul(kStream, gemm, a, b, c, bias);
            x.read(c, m * n);
            gemm.accumulate = true;
            const Values sum = x.of_type(normal_values(m * n, 4), DataType::kFp32);
            x->matmul(kStream, gemm, a, b, sum, nullptr);
            x.read(sum, m * n);
          },
          std::sqrt(static_cast<double>(k)));
    }
  }
}

Attention attention(std::int64_t sequences, std::int64_t heads, std::int64_t key_heads, std::int64_t length,
                    std::int64_t size, AttentionMask mask = AttentionMask::kCausal) {
  return {.sequences = sequences,
          .query_heads = heads,
          .key_heads = key_heads,
          .queries = length,
          .keys = length,
          .head_size = size,
          .mask = mask,
          .query_tile = 16};
}

TEST_P(DeviceContract, Attention) {
  // Part of a tile, several tiles, grouped heads, heads that fill their tile's width and that don't, no mask.
  for (const Attention& a : {attention(2, 2, 2, 32, 8), attention(1, 4, 2, 37, 16), attention(1, 6, 1, 19, 20),
                             attention(1, 2, 1, 70, 4, AttentionMask::kNone), attention(3, 3, 3, 1, 8),
                             attention(1, 1, 1, 130, 64), attention(1, 2, 1, 90, 128)}) {
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
    Attention a = attention(1, 2, 1, 150, 16);
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

TEST_P(DeviceContract, MemoryIsZeroedCountedAndCopiedInOrder) {
  Arrays x = arrays(GetParam().device);
  const ByteCount before = x->allocated();
  auto* memory = static_cast<float*>(x->allocate(ByteCount(400)));
  EXPECT_EQ(x->allocated() - before, ByteCount(400));
  auto* host = static_cast<float*>(x->allocate_host(ByteCount(400)));
  std::fill_n(host, 100, 7.0f);
  x->copy_out(Stream::kHostCopy, host, memory, ByteCount(200));
  x->synchronize();
  EXPECT_EQ(std::count(host, host + 100, 0.0f), 50);
  EXPECT_EQ(std::count(host, host + 100, 7.0f), 50);
  // Written on one stream, copied on another after an event.
  std::fill_n(host, 100, 2.0f);
  x->copy_in(kStream, memory, host, ByteCount(400));
  x->add(kStream, memory, memory, memory, 100);
  const EventHandle added = x->record(kStream);
  x->wait(Stream::kHostCopy, added);
  x->copy_out(Stream::kHostCopy, host, memory, ByteCount(400));
  x->synchronize();
  EXPECT_EQ(std::count(host, host + 100, 4.0f), 100);
  x->free_host(host);
  x->free(memory);
  EXPECT_EQ(x->allocated(), before);
}

TEST_P(DeviceContract, SlicesLieOnTheHostsClockAndFailuresStopTheDevice) {
  Arrays x = arrays(GetParam().device);
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const Nanoseconds before = static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  SliceClock first, second;
  x->begin_range("two slices");
  x->begin_slice(kStream, &first);
  x->host_function(kStream, [] {});
  x->end_slice(kStream, &first);
  x->begin_slice(kStream, &second);
  x->end_slice(kStream, &second);
  x->end_range();
  x->synchronize();
  constexpr Nanoseconds kSlack = 100'000;  // two clocks tied by an event
  EXPECT_GE(first.begin, before - kSlack);
  EXPECT_LE(first.begin, first.end);
  EXPECT_LE(first.end, second.begin);
  EXPECT_LE(second.begin, second.end);

  bool ran = false;
  x->host_function(kStream, [] { throw std::runtime_error("peer lost"); });
  EXPECT_THROW(x->synchronize(), std::runtime_error);
  x->host_function(kStream, [&] { ran = true; });
  EXPECT_THROW(x->synchronize(), std::runtime_error);
  EXPECT_FALSE(ran);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceContract,
                         testing::Values(Case{"emulated", DataType::kFp32}, Case{"emulated", DataType::kBf16},
                                         Case{"emulated", DataType::kFp16}, Case{"cuda", DataType::kFp32},
                                         Case{"cuda", DataType::kBf16}, Case{"cuda", DataType::kFp16}),
                         name_of);

TEST(CudaModule, SaysWhyThereIsNoGpuOrMakesADevice) {
  const CudaStatus status = cuda_status();
  if (status.problem.empty()) {
    EXPECT_FALSE(status.gpus.empty());
    EXPECT_EQ(make_cuda_device({})->name().substr(0, 6), "cuda 0");
    EXPECT_THROW(make_cuda_device({.ordinal = 1000}), Error);
  } else {
    EXPECT_TRUE(status.gpus.empty());
    EXPECT_THROW(make_cuda_device({}), Error);
  }
}

}  // namespace
}  // namespace trainyard::executor
