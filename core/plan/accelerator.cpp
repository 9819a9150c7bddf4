#include "core/plan/accelerator.h"

#include <fmt/format.h>

#include "core/error.h"

namespace trainyard {

FlopsPerSecond Accelerator::peak(DataType type) const {
  for (const auto& [known, rate] : dense_peak) {
    if (known == type) {
      return rate.value;
    }
  }
  throw Error(fmt::format("accelerator {} has no dense peak for {}", name, to_string(type)), name,
              "add it to the accelerator's file with its source, or choose another compute type");
}

}  // namespace trainyard
