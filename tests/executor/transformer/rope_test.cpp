#include "executor/transformer/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainyard::executor {

namespace {
ModelSpec llama31() {
  ModelSpec model;
  model.head_size = 128;
  model.rope_theta = 500000.0;
  model.rope_scaling = RopeScaling{.factor = 8.0, .original_positions = 8192};
  return model;
}
}  // namespace

// w_i = theta^(-2i/d): 1 for i = 0, theta^(-1/2) in the middle.
TEST(Rope, FrequenciesFallGeometrically) {
  ModelSpec model;
  model.head_size = 64;
  model.rope_theta = 10000.0;
  const auto frequencies = rope_frequencies(model);
  ASSERT_EQ(frequencies.size(), 32U);
  EXPECT_EQ(frequencies[0], 1.0);
  EXPECT_NEAR(frequencies[16], 0.01, 1e-15);
}

// Llama 3.1: wavelengths below 8192/4 stay, above 8192/1 are stretched by 8, between they are mixed.
TEST(Rope, LlamaThreePointOneStretchesLongWavelengthsOnly) {
  ModelSpec plain = llama31();
  plain.rope_scaling.reset();
  const auto before = rope_frequencies(plain);
  const auto after = rope_frequencies(llama31());
  int kept = 0;
  int stretched = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double ratio = before[i] / after[i];
    const double wavelength = 2 * M_PI / before[i];
    if (wavelength < 2048) {
      EXPECT_EQ(ratio, 1.0);
      ++kept;
    } else if (wavelength > 8192) {
      EXPECT_NEAR(ratio, 8.0, 1e-12);
      ++stretched;
    } else {
      EXPECT_GT(ratio, 1.0);
      EXPECT_LT(ratio, 8.0);
    }
  }
  EXPECT_GT(kept, 20);
  EXPECT_GT(stretched, 20);
}

TEST(Rope, TablesHoldTheAnglesOfEachPosition) {
  const RopeTables tables = rope_tables(llama31(), 5);
  ASSERT_EQ(tables.cosines.size(), 5U * 64U);
  EXPECT_EQ(tables.cosines[0], 1.0F);
  EXPECT_EQ(tables.sines[0], 0.0F);
  EXPECT_EQ(tables.cosines[3 * 64], static_cast<float>(std::cos(3.0)));
  EXPECT_EQ(tables.sines[4 * 64], static_cast<float>(std::sin(4.0)));
}

}  // namespace trainyard::executor
