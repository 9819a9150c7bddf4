#include "simulator/collective/curve_priors.h"

#include <cmath>

namespace trainyard::simulator {

CurveLogs to_logs(const CurveConstants& constants) {
  return {std::log(constants.floor_s), std::log(constants.hop_s), std::log(constants.fill_s),
          std::log(constants.fill_bytes), std::log(constants.bandwidth)};
}

CurveConstants from_logs(const CurveLogs& logs) {
  return {std::exp(logs[0]), std::exp(logs[1]), std::exp(logs[2]), std::exp(logs[3]), std::exp(logs[4])};
}

CurvePriors default_priors() {
  CurvePriors priors;
  //                                     H       a        c       x0    e
  priors.families["node/ring"] = {
      25e-6, 0.6e-6, 5.6e-6, 3.0e5,
      0.96};  // NVLink, LL 0.6 to Simple 3.4 us a hop of an all-reduce, which has half the fill
  priors.families["node/tree"] = {25e-6, 0.6e-6, 3.4e-6, 1.0e6, 0.85};  // 0.6 to 4.0; plain tree x 0.85
  priors.families["node/nvls"] = {25e-6, 4.0e-6, 90e-6, 2.0e7, 1.0};
  priors.families["node/direct"] = {50e-6, 2.0e-6, 66e-6, 5.0e7, 0.92};
  priors.families["rdma/tree"] = {20e-6, 8.5e-6, 12.4e-6, 8.0e5, 0.97};  // network, LL128 8.5 to NVLSTree 20.9 us
  priors.families["cloud/tree"] = {60e-6, 40e-6, 300e-6, 1.0e7, 0.97};
  priors.families["network/ring"] = {30e-6, 4.0e-6, 20e-6, 5.0e5, 0.97};  // network, LL128 4 to Simple 14 us a hop
  priors.families["network/direct"] = {60e-6, 20e-6, 100e-6, 2.0e7, 0.96};
  priors.families["nvl_domains/ring"] = {40e-6, 0.6e-6, 1.0e-6, 1.0e5, 0.97};
  priors.class_deviation = {0.5, 0.7, 0.7, 1.2, 0.05};
  priors.family_deviation = {0.7, 0.3, 0.3, 1.5, 0.05};
  return priors;
}

}  // namespace trainyard::simulator
