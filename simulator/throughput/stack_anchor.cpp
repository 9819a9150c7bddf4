#include "simulator/throughput/stack_anchor.h"

#include <cmath>

#include "simulator/throughput/stack_fit.h"
#include "simulator/throughput/stack_priors.h"

namespace trainyard::simulator {

namespace {

// Half of the rest is the run's own: an anchored prediction errs as much with .3 or .7.
constexpr double kScaleShare = 0.5;

}  // namespace

StackProfile anchored_profile(const StackProfile& profile, CasePricer& pricer, double measured_s) {
  const StackPriors priors = default_stack_priors(profile.fused);
  StackLogs mean{};
  for (std::size_t i = 0; i < mean.size(); ++i) {
    mean[i] = std::log(profile.constants.at(i));
  }
  const StackLogs logs = fit_stack({{&pricer, measured_s, 1.0}}, profile, mean, priors, mean);
  StackProfile anchored = profile;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    anchored.constants.at(i) = std::exp(logs[i]);
  }
  anchored.scale = profile.scale * std::pow(measured_s / pricer.step_s(anchored), kScaleShare);
  return anchored;
}

}  // namespace trainyard::simulator
