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

std::string_view title_of(StepLoss loss) {
  constexpr std::array<std::string_view, kStepLosses> kTitles = {"Ideal: model FLOPs at peak",
                                                                 "Products below peak",
                                                                 "Attention below peak",
                                                                 "Memory traffic",
                                                                 "Recomputation",
                                                                 "Waiting for the host",
                                                                 "Tensor-parallel communication",
                                                                 "Context-parallel communication",
                                                                 "Experts' exchange",
                                                                 "Transfers between stages",
                                                                 "Pipeline bubble",
                                                                 "Unequal stages",
                                                                 "Gradient reduction",
                                                                 "Parameter gathering",
                                                                 "Optimizer",
                                                                 "Offload over PCIe",
                                                                 "Data loading"};
  return kTitles.at(static_cast<std::size_t>(loss));
}

}  // namespace trainyard::simulator
