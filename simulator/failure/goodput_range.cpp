#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

#include "core/random/philox.h"
#include "simulator/failure/ranged_inputs.h"
#include "simulator/failure/reliability.h"

namespace trainyard::simulator {
namespace {

constexpr std::uint64_t kSeed = 0x7261696E;

double normal_of(double uniform) {
  return std::numbers::sqrt2 * boost::math::erf_inv(2.0 * std::clamp(uniform, 1e-9, 1.0 - 1e-9) - 1.0);
}

}  // namespace

GoodputRange goodput_range(const JobModel& job, double level, int draws) {
  const std::vector<RangedInput> inputs = ranged_inputs(job);
  std::vector<double> values(inputs.size());
  std::vector<double> goodputs;
  JobModel drawn = job;
  for (int draw = 0; draw < draws; ++draw) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values[i] = inputs[i].exact()
                      ? inputs[i].value
                      : ranged_value(inputs[i], normal_of(random_uniform(kSeed, i, static_cast<std::uint64_t>(draw))));
    }
    set_inputs(drawn, values);
    goodputs.push_back(analyse(drawn).goodput);
  }
  std::sort(goodputs.begin(), goodputs.end());
  const auto at = [&goodputs](double share) {
    const auto last = static_cast<double>(goodputs.size() - 1);
    return goodputs[static_cast<std::size_t>(std::lround(share * last))];
  };
  return {at(0.5 * (1.0 - level)), at(0.5), at(0.5 * (1.0 + level))};
}

std::vector<Sensitivity> sensitivities(const JobModel& job) {
  const std::vector<RangedInput> inputs = ranged_inputs(job);
  std::vector<double> values;
  for (const RangedInput& input : inputs) {
    values.push_back(input.value);
  }
  std::vector<Sensitivity> found;
  JobModel changed = job;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].exact()) {
      continue;
    }
    const auto goodput_at = [&](double value) {
      std::vector<double> with = values;
      with[i] = value;
      set_inputs(changed, with);
      return analyse(changed).goodput;
    };
    found.push_back(
        {inputs[i].name, inputs[i].low, inputs[i].high, goodput_at(inputs[i].low), goodput_at(inputs[i].high)});
  }
  const auto swing = [](const Sensitivity& s) { return std::abs(s.goodput_at_high - s.goodput_at_low); };
  std::stable_sort(found.begin(), found.end(),
                   [&swing](const Sensitivity& a, const Sensitivity& b) { return swing(a) > swing(b); });
  return found;
}

}  // namespace trainyard::simulator
