// How large a plan may be at all: what 64-bit counts hold and what listing a step's instructions costs.
//
//   passes = layers * accumulation            a program lists some ten instructions for each
//   rows   = micro_batch * sequence           of a matrix product; BLAS counts them in 32 bits
//   FLOPs  = rows * accumulation * (8 (layers / pp * P / tp + vocabulary * hidden) + 14 layers / pp * s * q)
//            of a rank's step, P the weights of a layer that a token goes through, q heads * head_size: recomputed,
//            with unmasked attention
//
// A plan beyond these limits is refused before anything is computed from it, so that no later product of its
// sizes overflows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/plan/training.h"

namespace trainyard {

constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;
constexpr std::int64_t kMostPasses = std::int64_t{1} << 18;
constexpr std::int64_t kMostRows = std::int64_t{1} << 30;
constexpr double kMostSamples = 0x1p60;       // of all steps: the data's clock
constexpr double kMostCountOfARank = 0x1p60;  // FLOPs or bytes of a step; counts end at 2^63

struct Oversize {
  std::string pointer;  // into plan.json
  std::string problem;
  std::string hint;
};

// Nothing where the plan is small enough. All sizes are positive, the model within core/model/model_limits.h.
std::optional<Oversize> oversize(const ModelSpec& model, const Training& training, const Layout& layout);

}  // namespace trainyard
