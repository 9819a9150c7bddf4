// ProgressLine: how far along something is, on standard error.
//
// On a terminal one line, rewritten in place and cut to its width; elsewhere plain lines, at most one every
// few seconds, so that a log stays short.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/text/style.h"

namespace trainyard::cli {

class ProgressLine {
 public:
  // `quiet`: the shortest time between two lines where it is no terminal.
  ProgressLine(const Style& style, std::chrono::milliseconds quiet);
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `important`: printed as a plain line whatever the time since the last.
  void show(const std::string& text, bool important = false);
  // Takes the line off a terminal, before something else is printed.
  void clear();

 private:
  Style style_;
  std::chrono::milliseconds quiet_;
  std::optional<std::chrono::steady_clock::time_point> last_;
  bool on_screen_ = false;
};

// "1:05", "2:03:04": hours, minutes, seconds left.
std::string clock_text(std::chrono::seconds time);

}  // namespace trainyard::cli
