// Kernel times from a machine's own samples; equations in kernel_cost.h.
#pragma once

#include <array>
#include <map>
#include <utility>

#include "simulator/compute/kernel_cost.h"
#include "simulator/compute/log_curve.h"
#include "simulator/compute/residual_fit.h"

namespace trainyard::simulator {

class MeasuredKernels final : public KernelCost {
 public:
  MeasuredKernels(const Concurrency& samples, std::string profile_name);
  Seconds time(const Operation& operation) const override;

 private:
  Seconds gemm(const Gemm& gemm) const;
  Seconds attention(const Attention& attention) const;
  Seconds elementwise(const Elementwise& elementwise) const;

  std::string profile_name_;
  std::map<std::pair<DataType, Transpose>, ResidualFit> gemms_;
  std::map<DataType, double> best_rate_;  // FLOP/s
  std::map<std::pair<DataType, AttentionPass>, ResidualFit> attentions_;
  std::array<LogCurve, kElementwiseKernels> elementwise_;
};

}  // namespace trainyard::simulator
