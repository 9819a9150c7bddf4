// What the wall clock of a job goes to. Shares sum to 1; the useful one is the goodput (reliability.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainyard::simulator {

enum class TimeUse : std::uint8_t {
  kUseful,         // steps that are in the final model, at undisturbed speed
  kDetection,      // stopped, nobody has noticed
  kRestart,        // from noticing to the first step
  kWaiting,        // for nodes: spares have run out
  kLostWork,       // steps done again, and saves that a failure made useless
  kBlockingSaves,  // training stands still for a snapshot
  kDegraded,       // fewer replicas or nodes
  kStragglers,     // steps take longer: slow nodes, throttling, flapping links
  kDetectors,      // overhead and false alarms of corruption detectors
  kCorruption,     // rolling back behind a corruption that was found
  kPlanned,        // planned stops
};
constexpr std::size_t kTimeUses = 11;

std::string_view to_string(TimeUse use);  // "useful", "detection", "lost_work", ...: for programs
std::string_view title_of(TimeUse use);   // "Noticing a failure": for people

// seconds or shares by TimeUse
struct TimeUses {
  std::array<double, kTimeUses> of{};
  double& operator[](TimeUse use) { return of[static_cast<std::size_t>(use)]; }
  double operator[](TimeUse use) const { return of[static_cast<std::size_t>(use)]; }
  double sum() const;
};

}  // namespace trainyard::simulator
