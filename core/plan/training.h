// Training: the hyperparameters that a plan fixes and that no layout changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard {

enum class OptimizerKind : std::uint8_t { kAdamW, kSgd };
std::string_view to_string(OptimizerKind kind);  // "adamw", "sgd"

// The loss scale of fp16 (Micikevicius et al. 2017, "Mixed precision training"): gradients are made that many times
// larger, so that small ones aren't rounded to 0. A step whose gradients overflow is skipped and halves it;
// growth_steps steps in a row without one double it. Other types don't have it. Defaults are PyTorch's
// (torch.amp.GradScaler).
struct LossScaling {
  double initial = 65536;  // a power of two
  std::int64_t growth_steps = 2000;
  friend bool operator==(const LossScaling&, const LossScaling&) = default;
};

struct Training {
  std::int64_t sequence = 0;      // tokens per sample
  std::int64_t global_batch = 0;  // sequences per step, over all ranks
  std::int64_t steps = 0;
  std::uint64_t seed = 0;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  double learning_rate = 3e-4;      // peak
  double minimum_rate_ratio = 0.1;  // of the peak, at the end of the cosine
  std::int64_t warmup_steps = 0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // on matrices; norms have none
  double momentum = 0.0;      // SGD
  std::optional<double> clip_norm = 1.0;
  double initial_std = 0.02;  // of weights; output and down products divided by sqrt(2 layers)
  LossScaling loss_scaling;
  friend bool operator==(const Training&, const Training&) = default;
};

// With w warm-up steps, peak p, floor f = minimum_rate_ratio p, and step counting from 0:
//   step < w:  p (step + 1) / w                                                 (the first step is not wasted)
//   then:      f + (p - f) (1 + cos(pi (step - w) / (steps - w))) / 2           (f from `steps` on)
// Source: Loshchilov and Hutter 2017 (SGDR), without restarts.
double learning_rate_at(const Training& training, std::int64_t step);

}  // namespace trainyard
