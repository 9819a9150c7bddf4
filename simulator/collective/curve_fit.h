// Fits the constants of all classes to measured points: robust, regularised least squares on log busbw.
//
//   minimise  sum_i rho((log busbw_i - log model_i)/s)  +  sum_k |(theta_k - mu_f(k))/tau|^2  +  sum_f |(mu_f -
//   mu0_f)/T|^2 rho(r) = log(1 + r^2)   (Cauchy: a curve that jumps at a protocol switch has outliers on both sides)
//   theta = (log H, log a, log c, log x0, log e) of a class, mu of its family, mu0 a prior from NCCL's tables
//
// So a class with curves is fitted by them, a class with plateaus only keeps its family's shape, and a class with
// nothing is its family. Levenberg-Marquardt on one class at a time (5 unknowns), family means in closed form,
// repeated until still; deterministic; some milliseconds for 400 points.
// Source: Holland and Welsch 1977 (Cauchy weights); Marquardt 1963; notes in docs/cost_model.md.
#pragma once

#include <string>
#include <vector>

#include "simulator/collective/curve_priors.h"
#include "simulator/collective/curve_table.h"

namespace trainyard::simulator {

struct FitObservation {
  CurveShape shape;
  Bytes size;
  BytesPerSecond bus;
  std::string series;  // "source: hardware, 2 nodes, all_reduce"
  std::string source;  // whose measurements: what is left out together
  double weight = 1.0;
};

// The table without bands of other sources (same_class, borrowed): those need refits, see with_bands().
CurveTable fit_curves(const std::vector<FitObservation>& observations, const CurvePriors& priors = default_priors());

// log(predicted / measured) of each observation under the fit of all the others' sources; the evidence says what the
// refit still knew of the class.
struct LeftOut {
  double log_error = 0.0;
  CurveEvidence evidence = CurveEvidence::kBorrowed;
};
std::vector<LeftOut> leave_one_source_out(const std::vector<FitObservation>& observations,
                                          const CurvePriors& priors = default_priors());

// fit_curves() and the bands that leave_one_source_out() gives.
CurveTable fit_with_bands(const std::vector<FitObservation>& observations,
                          const CurvePriors& priors = default_priors());

// A user's own curves: the classes they are of are refitted with the shipped constants as prior, and banded by them.
CurveTable anchored(const CurveTable& table, const std::vector<FitObservation>& own);

}  // namespace trainyard::simulator
