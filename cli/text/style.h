// Style: emphasis on a terminal, plain text everywhere else.
//
// Colours are used only when the stream is a terminal, TERM isn't "dumb" and NO_COLOR is unset or empty
// (https://no-color.org).
#pragma once

#include <string>
#include <string_view>

namespace trainyard::cli {

class Style {
 public:
  Style() = default;                            // plain
  static Style for_descriptor(int descriptor);  // of an open file: 1 for standard output, 2 for standard error

  bool terminal() const { return terminal_; }
  int columns() const { return columns_; }  // of the terminal, or 100
  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string dim(std::string_view text) const { return paint("2", text); }
  std::string red(std::string_view text) const { return paint("31", text); }
  std::string green(std::string_view text) const { return paint("32", text); }
  std::string yellow(std::string_view text) const { return paint("33", text); }

 private:
  std::string paint(const char* code, std::string_view text) const;
  bool terminal_ = false;
  bool coloured_ = false;
  int columns_ = 100;
};

}  // namespace trainyard::cli
