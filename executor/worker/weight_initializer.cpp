#include "executor/worker/weight_initializer.h"

#include <algorithm>
#include <cmath>

#include "core/random/normal.h"
#include "core/random/philox.h"

namespace trainyard::executor {

WeightSource random_weights(const ModelSpec& model, const Training& training) {
  const double deviation = training.initial_std;
  const double into_residual = deviation / std::sqrt(2.0 * static_cast<double>(model.layers));
  return [=, seed = training.seed](const Parameter& parameter, std::span<const IndexRange> ranges,
                                   std::span<float> values) {
    if (parameter.shape.size() == 1) {  // of a norm, or a bias
      std::fill(values.begin(), values.end(), parameter.part == ParameterPart::kBias ? 0.0F : 1.0F);
      return;
    }
    const bool closes_branch = parameter.kind == ParameterKind::kOutput || parameter.kind == ParameterKind::kDown;
    const auto scale = static_cast<float>(closes_branch ? into_residual : deviation);
    const std::uint64_t stream = stream_key(parameter.name);
    for_each_run(
        parameter.shape, ranges,
        [&](std::int64_t whole, std::int64_t slice, std::int64_t elements) {
          fill_normal(values.subspan(static_cast<std::size_t>(slice), static_cast<std::size_t>(elements)), seed, stream,
                      static_cast<std::uint64_t>(whole), scale);
        },
        parts_of(parameter));
  };
}

}  // namespace trainyard::executor
