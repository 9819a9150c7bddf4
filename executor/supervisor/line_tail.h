// LineTail: the last lines of a stream of bytes. '\r' ends a line that the next replaces, as on a terminal.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::executor {

class LineTail {
 public:
  static constexpr std::size_t kLines = 20;
  static constexpr std::size_t kLineBytes = 2000;  // of a longer line, the beginning is kept

  void append(std::string_view bytes);
  std::vector<std::string> lines() const;  // an unfinished last line included

 private:
  void finish_line();
  std::deque<std::string> lines_;
  std::string line_;
  bool replace_ = false;  // the next byte begins the line anew
};

}  // namespace trainyard::executor
