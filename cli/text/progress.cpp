#include "cli/text/progress.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/text/table.h"

namespace trainyard::cli {

namespace {

// The first `columns` code points.
std::string cut(const std::string& utf8, int columns) {
  if (display_width(utf8) <= columns) {
    return utf8;
  }
  std::string result;
  for (const char c : utf8) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
    if (!continues && columns-- <= 0) {
      break;
    }
    result += c;
  }
  return result;
}

}  // namespace

ProgressLine::ProgressLine(const Style& style, std::chrono::milliseconds quiet) : style_(style), quiet_(quiet) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const std::string& text, bool important) {
  const auto now = std::chrono::steady_clock::now();
  if (style_.terminal()) {
    fmt::print(stderr, "\r\x1b[K{}", cut(text, style_.columns() - 1));
    std::fflush(stderr);
    on_screen_ = true;
    return;
  }
  if (important || !last_ || now - *last_ >= quiet_) {
    fmt::print(stderr, "{}\n", text);
    last_ = now;
  }
}

void ProgressLine::clear() {
  if (on_screen_) {
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    on_screen_ = false;
  }
}

std::string clock_text(std::chrono::seconds time) {
  const auto total = time.count();
  if (total >= 3600) {
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  }
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

}  // namespace trainyard::cli
