// What a family of curves is taken to be before any curve was seen, and how far curves may stray from it.
//
// mu0: NCCL's own hop latencies where it has them (2.30 src/graph/tuning.cc: a from LL or LL128, a + c from Simple),
// else orders of magnitude. p and s were chosen by the error with a source left out (docs/cost_model.md).
// Deviations are of the natural log: tau of a class from its family, spread of a family from mu0.
#pragma once

#include <array>
#include <map>
#include <string>

#include "simulator/collective/curve.h"

namespace trainyard::simulator {

constexpr int kCurveUnknowns = 5;  // H, a, c, x0, e
using CurveLogs = std::array<double, kCurveUnknowns>;

CurveLogs to_logs(const CurveConstants& constants);
CurveConstants from_logs(const CurveLogs& logs);

struct CurvePriors {
  std::map<std::string, CurveConstants> families;
  CurveLogs class_deviation{};
  CurveLogs family_deviation{};
  double scale = 0.06;               // s: a residual of 6 % has half the pull it has in least squares
  double sharpness = 1.3;            // p
  double framework_floor = 1.6;      // of a training loop's H, of nccl-tests'
  double framework_deviation = 0.3;  // of its log
};

CurvePriors default_priors();

}  // namespace trainyard::simulator
