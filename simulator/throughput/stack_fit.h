// One stack's constants from its rows: Levenberg-Marquardt with slopes by differences. See throughput_fit.h.
#pragma once

#include <vector>

#include "simulator/throughput/stack_priors.h"
#include "simulator/throughput/throughput_fit.h"

namespace trainyard::simulator {

// A constant below it is none: its logarithm leads nowhere.
constexpr double kLeastConstant = 1e-12;

struct StackFitRow {
  CasePricer* pricer = nullptr;
  double measured_s = 0.0;
  double weight = 1.0;
};

// mean: of the stack's family. profile: the stack's habits.
StackLogs fit_stack(const std::vector<StackFitRow>& rows, const StackProfile& profile, const StackLogs& mean,
                    const StackPriors& priors, const StackLogs& start);

}  // namespace trainyard::simulator
