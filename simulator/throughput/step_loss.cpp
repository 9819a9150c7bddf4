#include "simulator/throughput/step_loss.h"

namespace trainyard::simulator {

std::string_view to_string(StepLoss loss) {
  switch (loss) {
    case StepLoss::kIdeal:
      return "ideal";
    case StepLoss::kGemm:
      return "gemm";
    case StepLoss::kAttention:
      return "attention";
    case StepLoss::kElementwise:
      return "elementwise";
    case StepLoss::kRecompute:
      return "recompute";
    case StepLoss::kHost:
      return "host";
    case StepLoss::kTensor:
      return "tensor";
    case StepLoss::kContext:
      return "context";
    case StepLoss::kExpert:
      return "expert";
    case StepLoss::kTransfer:
      return "transfer";
    case StepLoss::kBubble:
      return "bubble";
    case StepLoss::kImbalance:
      return "imbalance";
    case StepLoss::kGradient:
      return "gradient";
    case StepLoss::kParameter:
      return "parameter";
    case StepLoss::kOptimizer:
      return "optimizer";
    case StepLoss::kOffload:
      return "offload";
    case StepLoss::kInput:
      return "input";
  }
  return "?";
}

}  // namespace trainyard::simulator
