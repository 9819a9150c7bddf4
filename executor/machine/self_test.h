// Two short tests of the libraries that training stands on: seconds at most, no files.
#pragma once

#include <string>

#include "executor/device/device.h"

namespace trainyard::executor {

struct SelfTest {
  bool passed = false;
  std::string detail;  // what it reached, or what went wrong
};

// A product of 512^3 through the device, entries compared with plain loops in fp64; then its rate.
SelfTest test_matrix_product(Device& device);

// Two ranks, threads of this process, sum a tensor over 127.0.0.1.
SelfTest test_loopback_collective();

}  // namespace trainyard::executor
