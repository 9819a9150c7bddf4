// StepLoss: where the time of a step goes, from what the peak would allow to what is reached.
//
//   step time = sum over losses,  exactly
//
// kIdeal is the model's FLOPs (causal attention, nothing recomputed) at the accelerator's dense peak; each other part
// is what comes on top of it on the stage that decides the step.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/quantity.h"

namespace trainyard::simulator {

enum class StepLoss : std::uint8_t {
  kIdeal,        // model FLOPs at the peak
  kGemm,         // products below the peak: shape, type, launch
  kAttention,    // attention kernels below the peak
  kElementwise,  // norms, activations, residuals, casts, embedding, loss: memory traffic
  kRecompute,    // what is run again
  kHost,         // the GPU waits for its host to launch
  kTensor,       // tensor-parallel communication that nothing hides
  kContext,      // context-parallel
  kExpert,       // dispatch and combine of experts' tokens, and experts' imbalance
  kTransfer,     // between stages, not hidden
  kBubble,       // fill and drain of the pipeline
  kImbalance,    // stages that wait for the slowest
  kGradient,     // gradient reduction, not hidden
  kParameter,    // gathering of parameters, not hidden
  kOptimizer,    // norm and update
  kOffload,      // PCIe, not hidden
  kInput,        // data loading, not hidden
};
constexpr int kStepLosses = static_cast<int>(StepLoss::kInput) + 1;
std::string_view to_string(StepLoss loss);  // "ideal", "gemm", ...: for programs
std::string_view title_of(StepLoss loss);   // "Pipeline bubble": for people

using StepLosses = std::array<Seconds, kStepLosses>;

}  // namespace trainyard::simulator
