#include "executor/supervisor/line_tail.h"

namespace trainyard::executor {

void LineTail::append(std::string_view bytes) {
  for (const char byte : bytes) {
    if (byte == '\n') {
      finish_line();
    } else if (byte == '\r') {
      replace_ = true;
    } else {
      if (replace_) {
        line_.clear();
        replace_ = false;
      }
      if (line_.size() < kLineBytes) {
        line_.push_back(byte);
      }
    }
  }
}

void LineTail::finish_line() {
  lines_.push_back(std::move(line_));
  line_.clear();
  replace_ = false;
  if (lines_.size() > kLines) {
    lines_.pop_front();
  }
}

std::vector<std::string> LineTail::lines() const {
  std::vector<std::string> result(lines_.begin(), lines_.end());
  if (!line_.empty()) {
    result.push_back(line_);
  }
  if (result.size() > kLines) {
    result.erase(result.begin());
  }
  return result;
}

}  // namespace trainyard::executor
