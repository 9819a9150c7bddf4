#include "executor/supervisor/rank_progress.h"

#include <sstream>

namespace trainyard::executor {

std::string to_text(const RankProgress& progress) {
  return std::to_string(progress.ticks) + " " + std::to_string(progress.step) + " " + (progress.waiting ? "1" : "0");
}

std::optional<RankProgress> parse_rank_progress(const std::string& text) {
  std::istringstream stream(text);
  RankProgress progress;
  stream >> progress.ticks >> progress.step >> progress.waiting;
  return stream ? std::optional(progress) : std::nullopt;
}

}  // namespace trainyard::executor
