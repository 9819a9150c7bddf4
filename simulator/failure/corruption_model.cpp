#include "simulator/failure/corruption_model.h"

namespace trainyard::simulator {

std::string_view to_string(CorruptionCause cause) {
  return cause == CorruptionCause::kComputeError ? "compute_error" : "stored_bit";
}

std::string_view to_string(CorruptionSite site) {
  switch (site) {
    case CorruptionSite::kWeights:
      return "weights";
    case CorruptionSite::kActivations:
      return "activations";
    case CorruptionSite::kGradients:
      return "gradients";
    case CorruptionSite::kOptimizerState:
      return "optimizer_state";
    case CorruptionSite::kCommunication:
      break;
  }
  return "communication";
}

}  // namespace trainyard::simulator
