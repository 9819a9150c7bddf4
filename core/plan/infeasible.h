// Infeasible: why a layout cannot work, and by how much. An answer, not an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units/count.h"

namespace trainyard {

enum class InfeasibleReason : std::uint8_t {
  kDivision,     // a degree doesn't divide what it cuts
  kMemory,       // a rank needs more than it has
  kUnsupported,  // the executor can't run it today
};
std::string_view to_string(InfeasibleReason reason);

struct Infeasible {
  InfeasibleReason reason = InfeasibleReason::kDivision;
  std::string detail;  // "stage 3 needs 91.2 GiB of 80 GiB"
  std::optional<ByteCount> needed;
  std::optional<ByteCount> available;
};

}  // namespace trainyard
