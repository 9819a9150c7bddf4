// The clock of slices: CLOCK_MONOTONIC in nanoseconds, which all processes of a host share.
#pragma once

#include <time.h>

#include "core/units/quantity.h"

namespace trainyard::executor {

inline Nanoseconds monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace trainyard::executor
