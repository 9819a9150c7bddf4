#include "simulator/step/loss_dust.h"

#include <algorithm>

namespace trainyard::simulator {

StepLosses without_dust(const StepLosses& losses) {
  constexpr double kShown = 1e-9;  // s
  StepLosses shown = losses;
  Seconds dust;
  const auto parts = shown.begin() + 1;  // after kIdeal
  std::for_each(parts, shown.end(), [&](Seconds& part) {
    if (part.si() < kShown) {
      dust += part;
      part = Seconds{};
    }
  });
  *std::max_element(parts, shown.end()) += dust;
  return shown;
}

}  // namespace trainyard::simulator
