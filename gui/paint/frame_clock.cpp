#include "gui/paint/frame_clock.h"

#include <ctime>

namespace trainyard::gui {

double thread_cpu_ms() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace trainyard::gui
