#include "executor/data/sampler.h"

#include "core/error.h"
#include "executor/data/permutation.h"

namespace trainyard::executor {

namespace {

// Appends the window of each of this rank's samples of a step.
template <class WindowOf>
StepTokens fill(std::span<const std::uint8_t> text, const Plan& plan, std::int64_t step, int data_index,
                const WindowOf& window_of) {
  const Layout& layout = plan.layout;
  const std::int64_t sequence = plan.training.sequence;
  const std::int64_t per_rank = layout.accumulation * layout.micro_batch;
  const std::int64_t first = step * layout.sequences_per_step() + data_index * per_rank;
  StepTokens tokens;
  for (std::int64_t sample = first; sample < first + per_rank; ++sample) {
    const auto offset = static_cast<std::size_t>(window_of(sample) * sequence);
    const auto window = text.subspan(offset, static_cast<std::size_t>(sequence + 1));
    tokens.inputs.insert(tokens.inputs.end(), window.begin(), window.end() - 1);
    tokens.targets.insert(tokens.targets.end(), window.begin() + 1, window.end());
  }
  return tokens;
}

}  // namespace

std::int64_t window_count(std::span<const std::uint8_t> text, std::int64_t sequence) {
  return text.empty() ? 0 : (static_cast<std::int64_t>(text.size()) - 1) / sequence;
}

StepTokens training_tokens(std::span<const std::uint8_t> text, const Plan& plan, std::int64_t step, int data_index) {
  const std::int64_t windows = window_count(text, plan.training.sequence);
  check(windows > 0, "a text holds at least one window");
  return fill(text, plan, step, data_index, [&](std::int64_t sample) {
    const auto epoch = static_cast<std::uint64_t>(sample / windows);
    return Permutation(plan.training.seed, epoch, windows).at(sample % windows);
  });
}

StepTokens evaluation_tokens(std::span<const std::uint8_t> text, const Plan& plan, std::int64_t batch, int data_index) {
  const std::int64_t windows = window_count(text, plan.training.sequence);
  check(windows > 0, "a text holds at least one window");
  return fill(text, plan, batch, data_index, [&](std::int64_t sample) { return sample % windows; });
}

}  // namespace trainyard::executor
