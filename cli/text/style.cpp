#include "cli/text/style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace trainyard::cli {

Style Style::for_descriptor(int descriptor) {
  Style style;
  style.terminal_ = isatty(descriptor) != 0;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_color != nullptr && *no_color != '\0';
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  style.coloured_ = style.terminal_ && !refused && !dumb;
  winsize size{};
  if (style.terminal_ && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.columns_ = size.ws_col;
  }
  return style;
}

std::string Style::paint(const char* code, std::string_view text) const {
  if (!coloured_) {
    return std::string(text);
  }
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace trainyard::cli
