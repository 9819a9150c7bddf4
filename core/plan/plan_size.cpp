#include "core/plan/plan_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trainyard {

namespace {

// Products that may be too large for integers are taken as doubles.
double real(std::int64_t value) { return static_cast<double>(value); }

struct StepSize {
  double flops = 0.0;
  double bytes = 0.0;
};

// Upper bounds for the fullest rank, but for slices that don't come out even: less than a factor of two.
StepSize step_size(const ModelSpec& model, const Training& training, const Layout& layout) {
  const double tokens = real(layout.micro_batch) * real(training.sequence) * real(layout.accumulation);
  const double layers = std::ceil(real(model.layers) / layout.pipeline);
  const double hidden = real(model.hidden);
  const double query = real(model.heads) * real(model.head_size);
  const double key_value = real(model.key_value_heads) * real(model.head_size);
  const double attention = hidden * (2 * query + 2 * key_value);
  // Of a token: what it goes through; of a rank: what it holds.
  const double visited = model.experts ? real(model.experts->experts_per_token + model.experts->shared_experts) *
                                             real(model.experts->expert_feed_forward)
                                       : 0.0;
  const double held = model.experts ? real(model.experts->experts + model.experts->shared_experts) *
                                          real(model.experts->expert_feed_forward)
                                    : 0.0;
  const double width = std::max(real(model.feed_forward), visited);
  const double weights = (attention + 3 * hidden * width) / layout.tensor;
  const double held_weights = attention / layout.tensor + 3 * hidden * std::max(width / layout.tensor, held);
  const double ends = real(model.vocabulary) * hidden / layout.tensor;
  const double scores = layers * real(training.sequence) * query / layout.tensor;
  // Of one token: what all operations read and write, in numbers of at most 8 bytes.
  const double moved =
      layers * (40 * hidden + 16 * query + 16 * key_value + 20 * width) + 8 * (real(model.vocabulary) + hidden);
  return {.flops = tokens * (8 * (layers * weights + ends) + 14 * scores),
          .bytes = 8 * (tokens * moved + 3 * real(layout.accumulation) * (layers * held_weights + 2 * ends))};
}

}  // namespace

std::optional<Oversize> oversize(const ModelSpec& model, const Training& training, const Layout& layout) {
  const double ranks = real(layout.tensor) * layout.pipeline * layout.data * layout.context;
  if (ranks > real(kMostRanks)) {
    return Oversize{"/layout", fmt::format("{:.0f} ranks are more than {}", ranks, kMostRanks), "use fewer"};
  }
  const double rows = real(layout.micro_batch) * real(training.sequence);
  if (rows > real(kMostRows)) {
    return Oversize{"/layout/micro_batch",
                    fmt::format("{:.0f} tokens of a micro-batch are more than {}", rows, kMostRows),
                    "use a smaller micro-batch"};
  }
  const double passes = real(model.layers) * real(layout.accumulation);
  if (passes > real(kMostPasses)) {
    return Oversize{"/layout/accumulation",
                    fmt::format("{} micro-batches of {} layers are more than the {} passes that a step may have",
                                layout.accumulation, model.layers, kMostPasses),
                    "use a larger micro-batch, more data-parallel ranks or a smaller batch"};
  }
  if (real(training.steps) * std::max(real(training.global_batch), rows * real(layout.accumulation) * layout.data) >
      kMostSamples) {
    return Oversize{"/training/steps",
                    fmt::format("{} steps of {} sequences are more data than can be counted", training.steps,
                                training.global_batch),
                    "use fewer steps"};
  }
  const StepSize size = step_size(model, training, layout);
  if (std::max(size.flops, size.bytes) > kMostCountOfARank) {
    return Oversize{"/training/global_batch",
                    fmt::format("a step of one rank comes to {:.1e} FLOPs and {:.1e} bytes; counts end at {:.1e}",
                                size.flops, size.bytes, kMostCountOfARank),
                    "use a smaller batch, a shorter sequence or more ranks"};
  }
  return std::nullopt;
}

}  // namespace trainyard
