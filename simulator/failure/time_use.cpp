#include "simulator/failure/time_use.h"

#include <numeric>

namespace trainyard::simulator {

std::string_view to_string(TimeUse use) {
  constexpr std::array<std::string_view, kTimeUses> kNames = {"useful",    "detection",      "restart",  "waiting",
                                                              "lost_work", "blocking_saves", "degraded", "stragglers",
                                                              "detectors", "corruption",     "planned"};
  return kNames[static_cast<std::size_t>(use)];
}

std::string_view title_of(TimeUse use) {
  constexpr std::array<std::string_view, kTimeUses> kTitles = {"Useful time",
                                                               "Noticing a failure",
                                                               "Restarting",
                                                               "Waiting for nodes",
                                                               "Lost work",
                                                               "Standing still to save",
                                                               "Running degraded",
                                                               "Stragglers",
                                                               "Corruption detectors",
                                                               "Rolling back corruption",
                                                               "Planned stops"};
  return kTitles.at(static_cast<std::size_t>(use));
}

double TimeUses::sum() const { return std::accumulate(of.begin(), of.end(), 0.0); }

}  // namespace trainyard::simulator
