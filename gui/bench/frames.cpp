#include "gui/bench/frames.h"

#include <algorithm>

namespace trainyard::gui {

double FrameTimes::median() const {
  std::vector<double> sorted = ms;
  std::sort(sorted.begin(), sorted.end());
  return sorted.empty() ? 0.0 : sorted[sorted.size() / 2];
}

double FrameTimes::worst() const { return ms.empty() ? 0.0 : *std::max_element(ms.begin(), ms.end()); }

}  // namespace trainyard::gui
