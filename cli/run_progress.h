// RunProgress: follows a run by the lines of its record and shows how far it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/text/progress.h"
#include "cli/text/style.h"

namespace trainyard::cli {

class RunProgress {
 public:
  RunProgress(const Style& style, std::int64_t steps);
  // A line of the run record; lines of a kind it doesn't know are passed over.
  void record(const std::string& line);
  // What a rank said on standard error.
  void message(int rank, const std::string& line);
  // What the launcher has to say.
  void notice(const std::string& text);
  void clear() { line_.clear(); }

 private:
  std::chrono::seconds left(std::int64_t done) const;
  Style style_;
  std::int64_t steps_;
  ProgressLine line_;
  std::int64_t done_ = 0;
  std::int64_t first_ = 0;  // steps done when the clock started
  std::chrono::steady_clock::time_point first_step_;
};

}  // namespace trainyard::cli
