#include "cli/training_options.h"

#include <CLI/CLI.hpp>

#include "core/error.h"

namespace trainyard::cli {

namespace {

void require(bool holds, const char* flag, const char* what) {
  if (!holds) {
    throw Error(what, flag, "see trainyard plan --help");
  }
}

// Below what the kernels' single precision holds; not a number is neither.
bool from_zero(double value) { return value >= 0 && value <= 1e30; }

bool above_zero(double value) { return value > 0 && from_zero(value); }

}  // namespace

void add_training_options(CLI::App& verb, TrainingOptions& options) {
  Training& training = options.training;
  const char* what = "What to train";
  verb.add_option("--sequence", training.sequence, "Tokens per sample")->required()->group(what);
  verb.add_option("--global-batch", training.global_batch, "Samples per step, over all ranks")->required()->group(what);
  verb.add_option("--steps", training.steps, "Training steps")->default_val(1000)->group(what);
  verb.add_option("--seed", training.seed, "Of the first weights and the order of the data")->group(what);
  verb.add_option("--optimizer", options.optimizer, "adamw or sgd")
      ->type_name("NAME")
      ->check(CLI::IsMember({"adamw", "sgd"}))
      ->group(what);
  verb.add_option("--learning-rate", training.learning_rate, "Peak learning rate")->group(what);
  verb.add_option("--minimum-rate", training.minimum_rate_ratio, "Share of the peak rate that the cosine ends at")
      ->group(what);
  verb.add_option("--warmup", training.warmup_steps, "Steps from 0 to the peak rate")->group(what);
  verb.add_option("--beta1", training.beta1, "AdamW: decay of the mean gradient")->group(what);
  verb.add_option("--beta2", training.beta2, "AdamW: decay of the mean square")->group(what);
  verb.add_option("--epsilon", training.epsilon, "AdamW: added to the root of the mean square")->group(what);
  verb.add_option("--weight-decay", training.weight_decay, "On matrices; norms have none")->group(what);
  verb.add_option("--momentum", training.momentum, "SGD")->group(what);
  verb.add_option("--clip-norm", options.clip_norm, "Largest global gradient norm; 0: no clipping")->group(what);
  verb.add_option(
          "--loss-scale", training.loss_scaling.initial,
          "fp16: what gradients are scaled by at first, a power of two; an overflow skips the step and halves it")
      ->group(what);
  verb.add_option("--loss-scale-growth", training.loss_scaling.growth_steps,
                  "fp16: steps without an overflow that double the loss scale")
      ->group(what);
  verb.add_option("--initial-std", training.initial_std, "Standard deviation of the first weights")->group(what);
}

Training training_from(const TrainingOptions& options) {
  Training training = options.training;
  require(training.sequence > 0, "--sequence", "must be at least 1");
  require(training.global_batch > 0, "--global-batch", "must be at least 1");
  require(training.steps > 0, "--steps", "must be at least 1");
  require(training.warmup_steps >= 0, "--warmup", "can't be negative");
  require(above_zero(training.learning_rate), "--learning-rate", "must be above 0, at most 1e30");
  require(training.minimum_rate_ratio >= 0 && training.minimum_rate_ratio <= 1, "--minimum-rate", "must be 0 to 1");
  require(training.beta1 >= 0 && training.beta1 < 1, "--beta1", "must be 0 to below 1");
  require(training.beta2 >= 0 && training.beta2 < 1, "--beta2", "must be 0 to below 1");
  require(above_zero(training.epsilon), "--epsilon", "must be above 0, at most 1e30");
  require(from_zero(training.weight_decay), "--weight-decay", "must be 0 to 1e30");
  require(training.momentum >= 0 && training.momentum < 1, "--momentum", "must be 0 to below 1");
  require(from_zero(options.clip_norm), "--clip-norm", "must be 0 to 1e30");
  require(above_zero(training.initial_std), "--initial-std", "must be above 0, at most 1e30");
  require(training.momentum == 0 || options.optimizer == "sgd", "--momentum", "is SGD's; AdamW has --beta1");
  training.optimizer = options.optimizer == "sgd" ? OptimizerKind::kSgd : OptimizerKind::kAdamW;
  training.clip_norm = options.clip_norm > 0 ? std::optional<double>(options.clip_norm) : std::nullopt;
  return training;
}

}  // namespace trainyard::cli
