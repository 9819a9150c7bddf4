#include "core/program/instruction.h"

#include "core/error.h"

namespace trainyard {

Pass pass_of(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::kForward:
    case InstructionKind::kRecompute:
      return Pass::kForward;
    case InstructionKind::kBackwardInput:
      return Pass::kBackwardInput;
    case InstructionKind::kBackwardWeight:
      return Pass::kBackwardWeight;
    default:
      check(false, "only compute instructions have a segment");
      return Pass::kForward;
  }
}

}  // namespace trainyard
