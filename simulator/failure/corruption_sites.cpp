#include "simulator/failure/corruption_sites.h"

#include "simulator/failure/value_effect.h"

namespace trainyard::simulator {
namespace {

struct Site {
  CorruptionSite site;
  DataType type;
  double deviation;
  double memory_share;
  double compute_share;
  double lasting;
};

SiteExposure exposure(const Site& site, const ComputeErrorValues& values) {
  const FloatFormat format = float_format(site.type);
  const ValueEffect computed = compute_error_effect(format, site.deviation, values);
  return {site.site,
          site.type,
          site.memory_share,
          site.compute_share,
          consequence(computed, values.values, site.lasting),
          consequence(flip_effect(format, site.deviation), 1.0, site.lasting)};
}

}  // namespace

std::vector<SiteExposure> training_sites(const TrainingMemory& memory, const ComputeErrorValues& values) {
  constexpr double kWeightDeviation = 0.02;
  constexpr double kGradientDeviation = 1e-3;
  const double all =
      (memory.weights + memory.activations + memory.gradients + memory.optimizer + memory.communication).si();
  const auto share = [all](Bytes bytes) { return all > 0.0 ? bytes.si() / all : 0.0; };
  const Site sites[] = {
      {CorruptionSite::kWeights, memory.weight_type, kWeightDeviation, share(memory.weights), 0.0,
       memory.master_weights ? 0.05 : 1.0},
      {CorruptionSite::kActivations, memory.activation_type, 1.0, share(memory.activations), 1.0 / 3.0, 0.3},
      {CorruptionSite::kGradients, memory.gradient_type, kGradientDeviation, share(memory.gradients), 2.0 / 3.0, 0.5},
      {CorruptionSite::kOptimizerState, memory.optimizer_type, kWeightDeviation, share(memory.optimizer), 0.0, 1.0},
      {CorruptionSite::kCommunication, memory.communication_type, kGradientDeviation, share(memory.communication), 0.0,
       0.5}};
  std::vector<SiteExposure> exposures;
  for (const Site& site : sites) {
    exposures.push_back(exposure(site, values));
  }
  return exposures;
}

}  // namespace trainyard::simulator
