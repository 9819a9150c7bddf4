// NcclOptions: how a rank meets the others through NCCL, and how long it waits for them.
#pragma once

#include <chrono>
#include <string>

namespace trainyard::executor {

struct NcclOptions {
  std::string prefix;                                                       // of the store's keys: job and generation
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(120);    // of one init, split or first use
  std::chrono::milliseconds timeout = std::chrono::minutes(5);              // of one operation that has begun
  std::chrono::milliseconds poll_interval = std::chrono::milliseconds(20);  // of errors and operations under way
  // abort() leaves the communicator of all ranks to survivors(), which ends it. Until then a stream in which one of its
  // operations waits doesn't run empty.
  bool keeps_way_back = false;
};

}  // namespace trainyard::executor
