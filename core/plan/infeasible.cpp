#include "core/plan/infeasible.h"

namespace trainyard {

std::string_view to_string(InfeasibleReason reason) {
  switch (reason) {
    case InfeasibleReason::kDivision:
      return "division";
    case InfeasibleReason::kMemory:
      return "memory";
    case InfeasibleReason::kUnsupported:
      return "unsupported";
  }
  return "?";
}

}  // namespace trainyard
