#include <fmt/format.h>

#include <cmath>

#include "core/plan/largest_loss_scale.h"
#include "core/plan/plan.h"
#include "core/plan/plan_size.h"
#include "core/plan/validator.h"

namespace trainyard {

namespace {

constexpr double kLargestSetting = 1e30;  // the kernels compute in single precision

constexpr double kShortestTimeout = 0.1;  // seconds; shorter is less than a busy machine's scheduling delays
constexpr double kLongestTimeout = 30 * 86400;

}  // namespace

void validate_training(const Plan& plan, const Validator& v) {
  const Training& training = plan.training;
  v.positive(training.sequence, "/training/sequence");
  v.require(training.sequence <= plan.model.positions, "/training/sequence",
            fmt::format("{} tokens are more than the model's {} positions", training.sequence, plan.model.positions),
            "shorten the sequence");
  v.positive(training.global_batch, "/training/global_batch");
  v.positive(training.steps, "/training/steps");
  v.require(training.warmup_steps >= 0, "/training/warmup_steps", "is negative");
  v.above_zero(training.learning_rate, "/training/learning_rate");
  v.within(training.minimum_rate_ratio, 0.0, 1.0, "/training/minimum_rate_ratio");
  v.require(training.beta1 >= 0.0 && training.beta1 < 1.0, "/training/beta1", "is not in [0, 1)");
  v.require(training.beta2 >= 0.0 && training.beta2 < 1.0, "/training/beta2", "is not in [0, 1)");
  v.require(training.momentum >= 0.0 && training.momentum < 1.0, "/training/momentum", "is not in [0, 1)");
  v.above_zero(training.epsilon, "/training/epsilon");
  v.within(training.weight_decay, 0.0, kLargestSetting, "/training/weight_decay");
  v.require(!training.clip_norm || (*training.clip_norm > 0.0 && *training.clip_norm <= kLargestSetting),
            "/training/clip_norm", fmt::format("is {}", training.clip_norm.value_or(0.0)),
            fmt::format("must be above 0, at most {}; null turns clipping off", kLargestSetting));
  v.above_zero(training.initial_std, "/training/initial_std");
  const double scale = training.loss_scaling.initial;
  v.require(scale >= 1.0 && scale <= kLargestLossScale && std::exp2(std::round(std::log2(scale))) == scale,
            "/training/initial_loss_scale", fmt::format("is {}", scale),
            fmt::format("must be a power of two from 1 to {}", kLargestLossScale));
  v.positive(training.loss_scaling.growth_steps, "/training/loss_scale_growth_steps");
}

void validate_recovery(const RecoveryPolicy& recovery, const Validator& v) {
  v.require(recovery.restart_limit >= 0, "/recovery/restart_limit", "is negative",
            "0 ends the run at its first failure");
  v.within(recovery.hang_timeout.si(), kShortestTimeout, kLongestTimeout, "/recovery/hang_timeout");
  v.within(recovery.heartbeat_timeout.si(), kShortestTimeout, kLongestTimeout, "/recovery/heartbeat_timeout");
  v.require(recovery.spare_nodes >= 0 && recovery.spare_nodes <= kMostRanks, "/recovery/spare_nodes",
            fmt::format("is {}", recovery.spare_nodes), fmt::format("must be 0 to {}", kMostRanks));
}

void validate(const Plan& plan, const std::string& where) {
  const Validator v(where);
  validate_model(plan.model, v);
  validate_training(plan, v);
  validate_layout(plan, v);
  v.in_range(plan.cluster.ranks_per_node, kMostRanks, "/cluster/ranks_per_node");
  v.require(!plan.checkpoint.every_steps || *plan.checkpoint.every_steps >= 1, "/checkpoint/every_steps",
            "is not above 0", "null writes the final weights only");
  v.require(plan.checkpoint.keep >= 1, "/checkpoint/keep", "is not above 0", "at least the last one must stay");
  validate_recovery(plan.recovery, v);
}

}  // namespace trainyard
