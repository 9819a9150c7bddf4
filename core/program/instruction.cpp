#include "core/program/instruction.h"

namespace trainyard {

std::optional<Pass> pass_of(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::kForward:
    case InstructionKind::kRecompute:
      return Pass::kForward;
    case InstructionKind::kBackwardInput:
      return Pass::kBackwardInput;
    case InstructionKind::kBackwardWeight:
      return Pass::kBackwardWeight;
    default:
      return std::nullopt;
  }
}

}  // namespace trainyard
