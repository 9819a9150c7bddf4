#include "simulator/planner/goodput_waterfall.h"

#include <algorithm>
#include <cmath>

#include "simulator/step/loss_dust.h"

namespace trainyard::simulator {

namespace {

constexpr double kDust = 1e-9;  // s: rounding, as in loss_dust.h

}  // namespace

std::string_view to_string(const WaterfallCause& cause) {
  return std::visit([](auto kind) { return to_string(kind); }, cause);
}

Seconds GoodputWaterfall::of(const WaterfallCause& cause) const {
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.cause == cause; });
  return found == parts.end() ? Seconds() : found->time;
}

GoodputWaterfall goodput_waterfall(const StepLosses& losses, const TimeUses* shares) {
  GoodputWaterfall waterfall;
  const StepLosses shown = without_dust(losses);
  for (int loss = 0; loss < kStepLosses; ++loss) {
    const Seconds time = shown.at(static_cast<std::size_t>(loss));
    waterfall.step += time;
    if (loss == 0 || time.si() != 0.0) {
      waterfall.parts.push_back({static_cast<StepLoss>(loss), time});
    }
  }
  waterfall.wall = waterfall.step;
  const double useful = shares == nullptr ? 1.0 : (*shares)[TimeUse::kUseful];
  if (shares == nullptr || !(useful > 0.0)) {
    return waterfall;
  }
  for (std::size_t i = 1; i < kTimeUses; ++i) {
    const auto use = static_cast<TimeUse>(i);
    const Seconds time = waterfall.step * ((*shares)[use] / useful);
    if (time.si() != 0.0) {
      waterfall.parts.push_back({use, time});
      waterfall.wall += time;
    }
  }
  waterfall.goodput = waterfall.step / waterfall.wall;
  return waterfall;
}

std::vector<WaterfallDifference> differences(const GoodputWaterfall& a, const GoodputWaterfall& b) {
  std::vector<WaterfallDifference> found;
  for (const WaterfallPart& part : a.parts) {
    found.push_back({part.cause, part.time, b.of(part.cause)});
  }
  for (const WaterfallPart& part : b.parts) {
    if (std::none_of(found.begin(), found.end(), [&](const auto& entry) { return entry.cause == part.cause; })) {
      found.push_back({part.cause, Seconds(), part.time});
    }
  }
  std::erase_if(found, [](const WaterfallDifference& entry) { return std::abs(entry.difference().si()) < kDust; });
  std::stable_sort(found.begin(), found.end(), [](const WaterfallDifference& one, const WaterfallDifference& other) {
    return std::abs(one.difference().si()) > std::abs(other.difference().si());
  });
  return found;
}

}  // namespace trainyard::simulator
