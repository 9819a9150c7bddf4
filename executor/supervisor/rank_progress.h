// RankProgress: how far a rank's work is, as its watcher publishes it. A process can be alive and its work stand still.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trainyard::executor {

struct RankProgress {
  std::int64_t ticks = 0;  // grows with every step and every other piece of work
  std::int64_t step = 0;   // being trained, from 0
  bool waiting = false;    // for another rank
  friend bool operator==(const RankProgress&, const RankProgress&) = default;
};

std::string to_text(const RankProgress& progress);
std::optional<RankProgress> parse_rank_progress(const std::string& text);  // nothing if it is none

}  // namespace trainyard::executor
