#include "executor/transformer/rope.h"

#include <cmath>
#include <numbers>

namespace trainyard::executor {

namespace {
double stretched(double frequency, const RopeScaling& scaling) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const auto context = static_cast<double>(scaling.original_positions);
  if (wavelength < context / scaling.high_frequency_factor) {
    return frequency;
  }
  if (wavelength > context / scaling.low_frequency_factor) {
    return frequency / scaling.factor;
  }
  const double mix = (context / wavelength - scaling.low_frequency_factor) /
                     (scaling.high_frequency_factor - scaling.low_frequency_factor);
  return (1.0 - mix) * frequency / scaling.factor + mix * frequency;
}
}  // namespace

std::vector<double> rope_frequencies(const ModelSpec& model) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < model.head_size / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(model.head_size);
    const double frequency = std::pow(model.rope_theta, exponent);
    frequencies.push_back(model.rope_scaling ? stretched(frequency, *model.rope_scaling) : frequency);
  }
  return frequencies;
}

RopeTables rope_tables(const ModelSpec& model, std::int64_t sequence) {
  const std::vector<double> frequencies = rope_frequencies(model);
  RopeTables tables;
  for (std::int64_t position = 0; position < sequence; ++position) {
    for (double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      tables.cosines.push_back(static_cast<float>(std::cos(angle)));
      tables.sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return tables;
}

}  // namespace trainyard::executor
