// Fits stack profiles to measured steps: robust, regularised least squares on log step time.
//
//   minimise  sum_i w_i rho(log(t_i / measured_i) / s)  +  sum_k |(theta_k - mu_f(k)) / tau|^2
//             + sum_f |(mu_f - mu) / sigma|^2 + |(mu - mu0) / T|^2
//   rho(r) = 2 (sqrt(1 + r^2) - 1), s = 6 %;  w = (rows of the source)^-0.4
//   theta = logs of a stack's constants; mu_f of its family, a generation of accelerators with fused kernels or
//   without; mu of all; mu0 and T a prior from notes and data sheets
// So a stack with rows is fitted by them, and a stack without is its family. Levenberg-Marquardt on one stack at a
// time, means in closed form, repeated until still. Deterministic.
// Source: Marquardt 1963; soft L1 as in Triggs et al. 1999; constants in docs/cost_model.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulator/throughput/stack_library.h"

namespace trainyard::simulator {

using StackLogs = std::array<double, kStackConstants>;

// A row's predicted step under a stack; rows with open knobs: the median over what they may mean.
class CasePricer {
 public:
  explicit CasePricer(const ThroughputCase& row, std::shared_ptr<const GroupCost> groups);
  double step_s(const StackProfile& stack);
  // Half the log range of what open knobs may mean; 0 where all is stated.
  double spread(const StackProfile& stack);
  StepPrice price(const StackProfile& stack, Layout* chosen = nullptr);
  bool moe() const { return row_->moe(); }

 private:
  const ThroughputCase* row_;
  StepModel model_;
};

struct FitRow {
  const ThroughputCase* row = nullptr;
  std::shared_ptr<CasePricer> pricer;
  std::string stack;
};

// Rows that can be priced and are not excluded, with one group cost per machine.
std::vector<FitRow> fit_rows(const std::vector<ThroughputCase>& cases);

// start: constants to begin from (a fit of nearly the same rows), or nothing.
StackLibrary fit_stacks(const std::vector<FitRow>& rows, const StackLibrary* start = nullptr);

std::shared_ptr<const GroupCost> group_cost_of(const DescribedMachine& machine);

}  // namespace trainyard::simulator
