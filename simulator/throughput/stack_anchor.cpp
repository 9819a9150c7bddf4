#include "simulator/throughput/stack_anchor.h"

#include <algorithm>
#include <cmath>

#include "simulator/throughput/stack_fit.h"
#include "simulator/throughput/stack_priors.h"

namespace trainyard::simulator {

namespace {

// How far a run speaks for others of its stack: a dense one's own residual is as large as what stacks differ by (half
// of the rest is its own: an anchored prediction errs as much with .3 or .7); of models with experts runs of one stack
// scatter by 10 %, more than stacks do.
struct Trust {
  double weight;  // of the run in the fit, against the priors
  double scale;   // share of the rest
};
constexpr Trust kDense{1.0, 0.5};
constexpr Trust kExperts{0.1, 0.1};

Trust trust_in(const CasePricer& run) { return run.moe() ? kExperts : kDense; }

}  // namespace

StackProfile anchored_profile(const StackProfile& profile, const std::vector<AnchorRun>& runs) {
  StackPriors priors = default_stack_priors(profile.fused);
  StackLogs mean{};
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double own = std::max(profile.constants.at(i), kLeastConstant);
    priors.at(i).low = std::min(priors.at(i).low, own);  // as it is, the profile is among those that can be
    priors.at(i).high = std::max(priors.at(i).high, own);
    mean[i] = std::log(own);
  }
  std::vector<StackFitRow> rows;
  for (const AnchorRun& run : runs) {
    rows.push_back({run.pricer, run.measured_s, trust_in(*run.pricer).weight});
  }
  const StackLogs logs = fit_stack(rows, profile, mean, priors, mean);
  StackProfile anchored = profile;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    if (profile.constants.at(i) >= kLeastConstant) {  // a file's may be 0, which stays
      anchored.constants.at(i) = std::exp(logs[i]);
    }
  }
  double rest = 0.0;
  for (const AnchorRun& run : runs) {
    rest += trust_in(*run.pricer).scale * std::log(run.measured_s / run.pricer->step_s(anchored));
  }
  anchored.scale = profile.scale * std::exp(rest / static_cast<double>(runs.size()));
  return anchored;
}

}  // namespace trainyard::simulator
