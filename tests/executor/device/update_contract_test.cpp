// Gradient norms, clipping and optimizers of every device against the CPU's.
#include <cmath>
#include <limits>

#include "core/program/norm_sum.h"
#include "tests/executor/device/device_contract.h"

namespace trainyard::executor {
namespace {

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

}  // namespace
}  // namespace trainyard::executor
