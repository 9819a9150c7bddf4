#include "core/program/segment.h"

namespace trainyard {

FlopCount flops(const std::vector<Operation>& operations) {
  FlopCount total;
  for (const Operation& operation : operations) {
    total += flops(operation);
  }
  return total;
}

}  // namespace trainyard
